"""``python -m tests.soak.schedules --schedules 300 --seed S``: schedules on a local run, faults on the wire.

The seed decides what each schedule does, and what the n-th request to the emulator meets; which request is
the n-th depends on the threads of the run. It is printed; by default it is drawn.
"""

from __future__ import annotations

import argparse
import random
import time

from examples.catalog.system.running import started
from tests.http.events import Events
from tests.proof.arguments import from_on
from tests.proof.interrupting import ended
from tests.proof.results import keep
from tests.soak.schedules.referee import summary
from tests.soak.schedules.running import Result, run
from tests.soak.wire.kinds import Kind
from tests.soak.wire.site import PAGE_BITS, SETTINGS, faulty

COLUMNS = ("fault", "injected")
NOTE = (
    "{schedules} schedules over HTTP, SQS and streams on the local run, seed {seed}: {flows}. {requests}"
    " requests to the emulator, {faults} faults, {violations} violations, {odd} answers that"
    " docs/openapi.json does not have. Answers: {statuses}. What is checked: each batch ends once with one"
    " event id, no item is lost, lists of outstanding and failed items are exact, and each task and job is"
    " done once."
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=from_on(1), default=300)
    parser.add_argument("--threads", type=from_on(1), default=12)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    began = time.monotonic()
    with started(page_bits=PAGE_BITS, **SETTINGS) as local:
        bus = Events.on(local)
        with faulty(local, bus, given.seed) as site:
            result = run(site, given.schedules, given.threads)
    print(f"{time.monotonic() - began:.0f} s, {result.requests:,} requests")
    return _report(result, given.seed)


def _report(result: Result, seed: int) -> int:
    for line in (*result.violations, *result.odd):
        print(line)
    rows = [(kind.value, f"{result.faults[kind.value]:,}") for kind in Kind]
    for name, count in rows:
        print(f"{name:22} {count:>8}")
    total, wrong = result.faults.total(), len(result.violations)
    note = NOTE.format(
        schedules=f"{result.schedules.total():,}",
        seed=seed,
        flows=summary(result.schedules),
        requests=f"{result.requests:,}",
        faults=f"{total:,}",
        violations=wrong,
        odd=len(result.odd),
        statuses=", ".join(f"{status} {count:,}" for status, count in sorted(result.statuses.items())),
    )
    print(note)
    command = f'make faults ARGS="--schedules {result.schedules.total()} --seed {seed}"'
    keep("faults", command, COLUMNS, rows, note)
    return 1 if result.violations or result.odd else 0


if __name__ == "__main__":
    ended(main)
