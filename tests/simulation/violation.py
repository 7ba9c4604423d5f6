"""A broken promise, named after the invariant of the tracker that it breaks."""

from __future__ import annotations


class Violation(BaseException):
    """*invariant* is one of I1 to I8, or a name for what a run must not do at all.

    No Exception, which the code under test may outlive, as a sweep outlives a batch that it cannot look at.
    """

    def __init__(self, invariant: str, detail: str) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant = invariant


def require(holds: object, invariant: str, detail: str) -> None:
    """Raise a Violation unless the claim *holds*."""
    if not holds:
        raise Violation(invariant, detail)
