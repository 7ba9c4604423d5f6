"""The ratios of starts as the result of ``make start``, for docs/performance/start.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from lab.pages.results import Plot, Result, Table, Target, keep

PYTHON = "python"
ROUNDS = 7
"""Processes of each program."""
COLUMNS = ("start of", "CPU ms", "times boto3", "MB")
BOTH = frozenset({"sweep_jobs"})
"""Imports the tracker and another capability: 50 modules more than ``sweep``."""
TWICE = "each imports the tracker and another capability, and two runs on a busy machine differ by a fifth"
BUSY = "two runs on a busy machine differ by a fifth"
GROUPS = {"consumer": "consumers and sweepers", "route": "functions of the API"}


@dataclass(frozen=True, slots=True)
class Ratio:
    """The CPU of a start, in seconds and in that of boto3, the *limit* of the latter, and its memory."""

    name: str
    kind: str
    seconds: float
    ratio: float
    limit: float | None
    megabytes: float

    @property
    def is_over(self) -> bool:
        """Whether it takes more than its limit."""
        return self.limit is not None and self.ratio > self.limit


def keep_ratios(ratios: Sequence[Ratio], rounds: int) -> Result:
    """Keep the result."""
    return keep(
        "start",
        "make start" if rounds == ROUNDS else f'make start ARGS="--rounds {rounds}"',
        {"starts": Table(COLUMNS, [_cells(each) for each in ratios])},
        {
            "ratios": Plot(
                "CPU of a start, in that of boto3 and its DynamoDB client",
                "times boto3",
                bars=dict(_bars(ratios)),
            )
        },
        {"rounds": str(rounds), **dict(_figures(ratios))},
        list(_targets(ratios)),
        ["boto3"],
    )


def _cells(each: Ratio) -> tuple[str, ...]:
    return each.name, f"{each.seconds * 1000:.0f}", f"{each.ratio:.2f}", f"{each.megabytes:.0f}"


def _of(ratios: Sequence[Ratio], kind: str) -> list[Ratio]:
    return [each for each in ratios if each.kind == kind]


def _bars(ratios: Sequence[Ratio]) -> Iterator[tuple[str, float]]:
    for each in ratios:
        if each.kind not in GROUPS:
            yield each.name, each.ratio
    for kind, name in GROUPS.items():
        found = [each.ratio for each in _of(ratios, kind)]
        for what, of in (("least", min), ("median", median), ("most", max)):
            yield f"{name}, {what}", of(found)


def _figures(ratios: Sequence[Ratio]) -> Iterator[tuple[str, str]]:
    for kind in GROUPS:
        found = _of(ratios, kind)
        yield f"{kind}-median", f"{median(each.ratio for each in found):.2f}"
        yield f"{kind}-most", f"{max(each.ratio for each in found):.2f}"
        yield f"{kind}-count", str(len(found))


def _targets(ratios: Sequence[Ratio]) -> Iterator[Target]:
    """Yield a target for each group and each of what users start."""
    kinds = dict.fromkeys(each.kind for each in ratios if each.limit is not None)
    for kind in kinds:
        found = _of(ratios, kind)
        over = [each.name for each in found if each.is_over]
        why = TWICE if BOTH.issuperset(over) else BUSY
        most, limit = max(each.ratio for each in found), found[0].limit
        reason = f"{', '.join(over)}: {why}" if over else ""
        what = f"start of {GROUPS.get(kind, kind)}, times boto3"
        yield Target(what, f"at most {limit:.2f}", f"{most:.2f}", not over, reason)
