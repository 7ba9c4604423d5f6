"""Prints and keeps the first bottleneck of each load: ``make scale-limits``; it needs no deployment.

``python -m lab.pages.page scale`` writes docs/performance/scale.md from the result.
"""

from __future__ import annotations

import argparse
from functools import partial

from lab.pages.results import Plot, Table, keep
from lab.scale_limits.cases import CASES, Sends, failures, in_order
from lab.scale_limits.ladder import Make, Reached, Rungs, climb, cold, run, warm
from lab.scale_limits.partitions import Blame
from lab.scale_limits.services import SERVICES

NAME = "scale"
COLUMNS = (
    "load",
    "asked",
    "new tables take",
    "refused by",
    "warm tables take",
    "refused by",
    "moved by",
    "then",
)
LINES: tuple[tuple[str, Sends, Make, float], ...] = (
    ("acks singly, new tables", in_order, cold, 1e6),
    ("acks singly, warm", in_order, warm, 1e6),
    ("acks in hundreds, new tables", partial(in_order, together=100), cold, 1e6),
    ("acks in hundreds, warm", partial(in_order, together=100), warm, 1e6),
    ("failures in hundreds, warm", partial(failures, together=100), warm, 1e6),
    ("failures singly, warm", failures, warm, 1e5),
)
ASKED = (1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6)
PARENTS_AT = 1_000_000


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter).parse_args()
    rungs = []
    for case in CASES:
        rungs.append(climb(case))
        print(" | ".join(row(rungs[-1])), flush=True)
    keep(
        NAME,
        "make scale-limits",
        {"loads": Table(COLUMNS, [row(each) for each in rungs]), "services": services()},
        {"taken": plot()},
        figures(rungs),
        packages=["numpy"],
    )


def row(found: Rungs) -> tuple[str, ...]:
    """Return the row of a case."""
    case, most = found.case, found.case.most
    moved = _rate(found.moved, most) if found.moved else ""
    asked = f"{case.asked:,} {case.unit}"
    reached = (found.cold, found.warm)
    cells = (cell for each in reached for cell in (_rate(each, most), named(each.blame)))
    return (case.name, asked, *cells, case.moved, moved)


def services() -> Table:
    """Return the table of the services around the tables."""
    rows = [(s.name, f"{s.limit:,.0f}", s.what, _round(s.rate), s.moved, s.source) for s in SERVICES]
    return Table(("limit", "is", "carries", "reached at, a second", "moved by", "source"), rows)


def plot() -> Plot:
    """Return the rates that are taken by the rates that are asked for."""
    lines = {
        name: [(asked, max(1.0, _taken(sends, make, asked))) for asked in ASKED if asked <= most]
        for name, sends, make, most in LINES
    }
    return Plot(
        "Items of one batch that the tables take", "items a second, asked", "taken", lines=lines, log="xy"
    )


def figures(rungs: list[Rungs]) -> dict[str, str]:
    """Return what the page quotes: the rates of the cases, and the climbs that wait at a rate."""
    found = {f"warm-{number}": _rate(each.warm, each.case.most) for number, each in enumerate(rungs)}
    found |= {f"cold-{number}": _rate(each.cold, each.case.most) for number, each in enumerate(rungs)}
    for parents in (1, 16):
        outcome = run(partial(in_order, together=100, parents=parents), 2 * PARENTS_AT, warm)
        parent = sum(
            units for blame, units in outcome.blames.items() if blame.key.value.split("#")[-2:-1] == ["1"]
        )
        climbs = 2 * PARENTS_AT * len(outcome.rates) / 1024
        found[f"climbs-refused-{parents}"] = f"{100 * parent / climbs:.0f} %"
    return found


def named(blame: Blame | None) -> str:
    """Return what refuses, as the page names it."""
    if blame is None:
        return "nothing"
    place, value = blame.key
    kind = {
        "batches": "the batch's key",
        "tasks/open": "the lane, in the index of open tasks",
        "jobs": "a part",
    }.get(place, f"a key of {place}")
    if place == "pages":
        kind = "a page" if value.split("#")[-2] == "0" else "a parent page"
    return {"key": kind, "table": f"the table {place}"}.get(blame.why, f"a partition, with {kind}")


def _taken(sends: Sends, make: Make, asked: float) -> float:
    rates = run(sends, asked, make).rates
    return sum(rates) / len(rates)


def _rate(reached: Reached, most: float) -> str:
    return _round(reached.rate) if reached.blame else f"over {_round(most)}"


def _round(rate: float) -> str:
    """Return *rate* with two significant digits."""
    return f"{float(f'{rate:.2g}'):,.0f}"


if __name__ == "__main__":
    main()
