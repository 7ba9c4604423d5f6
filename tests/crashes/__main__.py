"""``python -m tests.crashes``: every handler killed before and after each request it makes.

``--handler NAME``: only that one, and without a result for the page.
"""

from __future__ import annotations

import argparse
import io
import logging
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout

from tests.crashes.account import opened
from tests.crashes.judging import KILLS, MANY, Judge, Judged
from tests.crashes.scenarios import SCENARIOS
from tests.proof.interrupting import ended
from tests.proof.results import keep

COLUMNS = ("handler", "scenarios", "requests", "kills", "other disturbances", "recovered")
HANDLERS = {scenario.handler for scenario in SCENARIOS}
SHOWN = 20
"""Failures that are printed."""
NOTE = (
    "At each request a handler is killed before and after it, overtaken by a second copy of its event, and"
    f" out of time; of an event with {MANY} requests or more, at most {MANY} are disturbed in all ways."
    " Allowed are repeated sends with the same id, ids and owners that a process draws, a full page that is"
    " not compacted, and a failure without its reason."
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crashes", description=__doc__)
    parser.add_argument("--handler", action="append", choices=sorted(HANDLERS), help="only this handler")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # handlers log what they recover from
    judged = _all(given.handler)
    failures = [each for one in judged for each in one.failures]
    print(*failures[:SHOWN], sep="\n")
    row = total(judged)
    print(*(f"{name}: {cell}" for name, cell in zip(COLUMNS, row, strict=True)), sep=", ")
    if not given.handler:
        keep("crashes", "make crashes", COLUMNS, [row], NOTE)
    return 1 if failures else 0


def _all(names: Sequence[str] | None) -> list[Judged]:
    judged = []
    # Metrics of what a scenario prepares, and of second copies.
    with redirect_stdout(io.StringIO()), opened() as account:
        for scenario in SCENARIOS:
            if not names or scenario.handler in names:
                judged.append(Judge(account).judge(scenario))
                counts = f"{judged[-1].runs.total()} runs, {len(judged[-1].failures)} failures"
                print(f"{scenario.id}: {counts}", file=sys.stderr)
    return judged


def total(judged: Sequence[Judged]) -> tuple[str, ...]:
    """Return the row of all scenarios."""
    runs: Counter[str] = sum((each.runs for each in judged), Counter())
    kills = sum(runs[kind] for kind in KILLS)
    failed = sum(len(each.failures) for each in judged)
    requests = sum(len(each.requests) for each in judged)
    counts = (len(judged), requests, kills, runs.total() - kills, runs.total() - failed)
    handlers = len({each.scenario.handler for each in judged})
    return (f"{handlers} handlers", *(f"{count:,}" for count in counts))


if __name__ == "__main__":
    ended(main)
