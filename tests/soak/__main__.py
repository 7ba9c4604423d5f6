"""``make faults``: schedules over HTTP, SQS and streams on a local run, with faults on the wire.

It prints the table of the referee, and exits with 1 if a rule does not hold. ``--crashes``: functions and
workers are killed and frozen, too.
"""

from __future__ import annotations

import argparse
import logging
import random

from tests.proof.arguments import from_on
from tests.proof.interrupting import ended
from tests.proof.results import keep
from tests.soak.soaking import Plan, soak
from tests.soak.wire.kinds import Kind

COLUMNS = ("fault", "injected")
NOTE = (
    "{schedules:,} schedules over HTTP, SQS and streams on the local run, seed {seed}: {load}. {requests:,}"
    " requests to the emulator, {faults:,} faults, {chaos:,} crashes, {violations} violations. Answers:"
    " {statuses}. What is checked: each batch ends once with one event id, no item is lost, lists of"
    " outstanding and failed items are exact, each task and job is done once, and docs/openapi.json has each"
    " answer."
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--schedules", type=from_on(1), default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="the default is drawn")
    parser.add_argument("--crashes", action="store_true", help="kill and freeze functions and workers")
    given = parser.parse_args()
    logging.getLogger("fanin").setLevel(logging.CRITICAL)  # failures are made on purpose
    print(f"seed {given.seed}", flush=True)
    report = soak(Plan(given.schedules, given.seed, given.crashes))
    for rule in report.rules:
        print(f"{'holds' if rule.holds else 'BROKEN':<7} {rule.name}: {rule.seen}")
    text = NOTE.format(
        schedules=given.schedules,
        seed=given.seed,
        load=", ".join(f"{count:,} {name}" for name, count in sorted(report.load.items())),
        requests=report.requests,
        faults=report.faults.total(),
        chaos=report.chaos.total(),
        violations=sum(len(rule.broken) for rule in report.rules),
        statuses=", ".join(f"{status} {count:,}" for status, count in sorted(report.statuses.items())),
    )
    print(text)
    flag = " --crashes" if given.crashes else ""
    command = f'make faults ARGS="--schedules {given.schedules} --seed {given.seed}{flag}"'
    keep("faults", command, COLUMNS, [(kind.value, f"{report.faults[kind.value]:,}") for kind in Kind], text)
    return 0 if all(rule.holds for rule in report.rules) else 1


if __name__ == "__main__":
    ended(main)
