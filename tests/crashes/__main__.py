"""``python -m tests.crashes``: every handler killed before and after each request it makes, as a table.

``--handler NAME``: only that one, and without a result for the page. ``--failures N``: print so many.
"""

from __future__ import annotations

import argparse
import io
import logging
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import redirect_stdout

from tests.crashes.account import opened
from tests.crashes.judging import KILLS, MANY, Judge, Judged
from tests.crashes.scenarios import SCENARIOS, deployed
from tests.proof.arguments import from_on
from tests.proof.interrupting import ended
from tests.proof.results import keep

COLUMNS = ("handler", "scenarios", "requests", "kills", "other disturbances", "recovered")
NOTE = (
    "At each request a handler is killed before and after it, overtaken by a second copy of its event, and"
    f" out of time; of an event with {MANY} requests or more, at most {MANY} are disturbed in all ways."
    " Allowed are repeated sends with the same id, ids and owners that a process draws, a full page that is"
    " not compacted, and a failure without its reason."
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crashes", description=__doc__)
    parser.add_argument("--handler", action="append", choices=deployed(), help="only this handler")
    parser.add_argument("--failures", type=from_on(0), default=20, help="how many failures are printed")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # handlers log what they recover from
    judged = _all(given.handler)
    failures = [each for one in judged for each in one.failures]
    for each in failures[: given.failures]:
        print(each)
    rows = table(judged)
    for row in (COLUMNS, *rows):
        print(" | ".join(f"{cell:>{width}}" for cell, width in zip(row, _widths(rows), strict=True)))
    if not given.handler:
        keep("crashes", "make crashes", COLUMNS, rows[-1:], NOTE)
    return 1 if failures else 0


def _all(names: Sequence[str] | None) -> list[Judged]:
    judged = []
    # Metrics of what a scenario prepares, and of second copies.
    with redirect_stdout(io.StringIO()), opened() as account:
        for scenario in SCENARIOS:
            if not names or scenario.handler in names:
                judged.append(Judge(account).judge(scenario))
                print(f"{scenario.id}: {len(judged[-1].failures)} failures", file=sys.stderr)
    return judged


def table(judged: Sequence[Judged]) -> list[tuple[str, ...]]:
    """Return a row for each handler, and the total."""
    by_handler: dict[str, list[Judged]] = defaultdict(list)
    for each in judged:
        by_handler[each.scenario.handler].append(each)
    rows = [_row(name, by_handler[name]) for name in sorted(by_handler)]
    return [*rows, _row(f"{len(rows)} handlers", judged)]


def _row(name: str, judged: Sequence[Judged]) -> tuple[str, ...]:
    runs: Counter[str] = sum((each.runs for each in judged), Counter())
    kills = sum(runs[kind] for kind in KILLS)
    failed = sum(len(each.failures) for each in judged)
    requests = sum(len(each.requests) for each in judged)
    counts = (len(judged), requests, kills, runs.total() - kills, runs.total() - failed)
    return (name, *(f"{count:,}" for count in counts))


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(row[at]) for row in (COLUMNS, *rows)) for at in range(len(COLUMNS))]


if __name__ == "__main__":
    ended(main)
