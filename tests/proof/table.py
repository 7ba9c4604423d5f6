"""The table of a run: a row a part, printed, and kept for docs/proof.md by section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.proof.journal import Journal
from tests.proof.results import keep

COLUMNS = ("stage", "what", "runs", "requests", "faults", "violations", "CPU time", "code")
SECTIONS = {
    "simulators": ("seeds", "races", "examples"),
    "exhaustive": ("exhaustive",),
    "histories": ("histories",),
    "mutants": ("mutants",),
}


def show(journals: Sequence[Journal]) -> None:
    """Print the table."""
    lines = [COLUMNS, *map(row, journals)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def beside(stages: Iterable[str]) -> set[str]:
    """Return *stages*, and those whose rows are in the same section."""
    asked = set(stages)
    return {stage for rows in SECTIONS.values() if asked.intersection(rows) for stage in rows}


def keep_all(journals: Sequence[Journal], command: str) -> None:
    """Keep the rows of each section of which a chunk is done. *command* runs them again."""
    for section, stages in SECTIONS.items():
        mine = [each for stage in stages for each in journals if each.part.stage == stage and each.done]
        if mine:
            keep(section, command, COLUMNS[1:], [row(each)[1:] for each in mine], _note(mine))


def row(journal: Journal) -> tuple[str, ...]:
    """Return the cells of a part."""
    total, part = journal.total(), journal.part
    counts = [f"{count:,}" if count else "" for count in (total.requests, total.faults)]
    what = f"{part.name}: {part.span}"
    cpu = time_of(total.cpu)
    return part.stage, what, f"{total.runs:,}", *counts, str(len(total.violations)), cpu, journal.fingerprint


def time_of(seconds: float) -> str:
    """Return a time as hours, minutes or seconds."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"


def _note(journals: Iterable[Journal]) -> str:
    """Return which parts were not run to their end."""
    left = [each for each in journals if not each.is_complete()]
    shares = (f"{each.part.name} {len(each.done) * 100 // len(each.part.chunks)} %" for each in left)
    return f"Run so far: {', '.join(shares)}." if left else ""
