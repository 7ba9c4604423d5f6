"""Holding what happened against what was promised."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.violation import Violation


def require(holds: object, invariant: str, detail: str | Callable[[], str]) -> None:
    """Raise a Violation unless the claim *holds*; the detail is only worked out where it does not."""
    if not holds:
        raise Violation(invariant, detail if isinstance(detail, str) else detail())
