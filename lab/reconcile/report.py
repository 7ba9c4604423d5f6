"""The result of ``python -m lab.reconcile``, for docs/performance/reconcile.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.pages.results import Result, Table, Target, keep

COLUMNS = ("items", "outstanding", "seconds", "CPU s", "rows a second", "GiB")
PACKAGES = ("pyspark", "pyarrow", "numpy")
TARGET_ITEMS, TARGET_SECONDS = 10**9, 120


@dataclass(frozen=True, slots=True)
class Measured:
    """A run of the job, the start of Spark included: *seconds*, *cpu* seconds, and the *peak* of bytes."""

    spread: str
    items: int
    missing: int
    seconds: float
    cpu: float
    peak: int

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        return (
            f"{self.items:,}",
            f"{self.missing:,} {self.spread}",
            f"{self.seconds:.0f}",
            f"{self.cpu:.0f}",
            f"{self.items / self.seconds:,.0f}",
            f"{self.peak / 2**30:.1f}",
        )


def keep_all(found: Sequence[Measured], command: str) -> Result:
    """Keep the result."""
    slowest = max(found, key=lambda each: each.seconds)
    figures = {"items": f"{slowest.items:,}", "seconds": f"{slowest.seconds:.0f}"}
    runs = Table(COLUMNS, [each.cells for each in found])
    return keep("reconcile", command, {"runs": runs}, {}, figures, list(_targets(slowest)), PACKAGES)


def _targets(slowest: Measured) -> Iterator[Target]:
    if slowest.items == TARGET_ITEMS:
        yield Target(
            "reconcile of 10^9 items, under 120 s",
            f"under {TARGET_SECONDS} s",
            f"{slowest.seconds:.0f} s",
            slowest.seconds < TARGET_SECONDS,
            "reading the rows of the manifest takes the time",
        )
