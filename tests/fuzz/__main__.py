"""``python -m tests.fuzz``: fuzzed requests and deliveries against all handlers; prints a table.

The handlers run in this process, on moto and the emulator's tables.
"""

from __future__ import annotations

import argparse
import logging
from collections import Counter

from tests.fuzz import records, running
from tests.fuzz.deployment import deployment
from tests.proof.arguments import from_on
from tests.proof.interrupting import ended
from tests.proof.results import keep
from tests.request_rules import hook

COLUMNS = ("what", "sent", "answered", "refused", "wrong")
SHOWN = 20


def main() -> int:
    """Run, print what is wrong with the command that repeats it, and keep the table."""
    given = _arguments()
    logging.disable(logging.CRITICAL)
    hook.install()
    with deployment():
        requests = running.run(given.requests, given.seed, given.first)
    with deployment():
        deliveries = records.run(given.deliveries, given.seed, given.first)
    rows, wrong = [*_of_requests(requests), _of_deliveries(deliveries)], [*requests.wrong, *deliveries.wrong]
    for row in (COLUMNS, *rows):
        print("  ".join(f"{cell:<44}" if not at else f"{cell:>9}" for at, cell in enumerate(row)))
    print(*wrong[:SHOWN], sep="\n")
    keep("fuzz", f'make fuzz ARGS="{_as_given(given)}"', COLUMNS, rows, _note(given))
    return bool(wrong)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=from_on(1), default=10_000, help="requests to the API; 10,000")
    parser.add_argument("--deliveries", type=from_on(1), default=300, help="deliveries to each consumer; 300")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first request and delivery")
    return parser.parse_args()


def _as_given(given: argparse.Namespace) -> str:
    return " ".join(f"--{name} {value}" for name, value in sorted(vars(given).items()))


def _note(given: argparse.Namespace) -> str:
    return f"Seed {given.seed}. Refused: an answer from 400 to 499. Wrong: also each answer of 500 or more."


def _of_requests(judge: running.Judge) -> list[tuple[str, ...]]:
    by_method: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for (route, status), count in judge.answers.items():
        method = route.partition(" ")[0]
        by_method[method] += count
        refused[method] += count if 400 <= status < 500 else 0
    wrong = Counter(each.partition(": ")[2].split()[0] for each in judge.wrong)
    return [
        (
            f"{method} requests",
            f"{by_method[method]:,}",
            f"{by_method[method] - refused[method]:,}",
            f"{refused[method]:,}",
            f"{wrong[method]:,}",
        )
        for method in sorted(by_method | wrong)
    ]


def _of_deliveries(judge: records.Judge) -> tuple[str, ...]:
    """Return the row of all consumers; the lines of what is wrong name each."""
    sent = f"{sum(judge.delivered.values()):,}"
    return f"deliveries to {len(judge.delivered)} consumers", sent, sent, "", f"{len(judge.wrong):,}"


ended(main)
