"""A broken promise, named after the invariant that it breaks."""

from __future__ import annotations

from collections.abc import Callable


class Violation(BaseException):
    """*invariant* is the one's name in the capability's design, or says what a run must not do at all.

    No Exception, which the code under test may outlive, as a sweep outlives a batch that it cannot look at.
    """

    def __init__(self, invariant: str, detail: str) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant = invariant


def require(holds: object, invariant: str, detail: str | Callable[[], str]) -> None:
    """Raise a Violation unless the claim *holds*; a *detail* that is costly is worked out only then."""
    if not holds:
        raise Violation(invariant, detail if isinstance(detail, str) else detail())
