"""``make soak``: mixed load of all capabilities on one local run, with crashes, and a referee at the end.

``make faults``, which is ``--schedules N``: so many flows, without crashes and with many more faults.
It prints the table of the referee, and exits with 1 if a rule does not hold. ``--calm``: without crashes;
``--spark``: with Spark jobs; ``--faults``: the share of requests to the emulator that meet a fault.
"""

from __future__ import annotations

import argparse
import logging
import random

from tests.proof.arguments import from_on
from tests.proof.interrupting import ended
from tests.proof.results import keep
from tests.soak.referee import Rule
from tests.soak.soaking import Plan, Report, soak
from tests.soak.wire.kinds import Kind

FAULTS = 0.03
FAULT = "faults: "
"""How names of faults on the wire begin in a report."""
COLUMNS = ("what", "minutes", "rules", "broken rules", "faults")
OF_FAULTS = ("what", "schedules", "requests", "faults", "violations")
NOTE = (
    "{schedules:,} schedules over HTTP, SQS and streams on the local run, seed {seed}: {load}. {requests:,}"
    " requests to the emulator, {faults:,} faults, {violations} violations: {kinds}. Answers: {statuses}."
    " What is checked: each batch ends once with one event id, no item is lost, lists of outstanding and"
    " failed items are exact, each task and job is done once, and docs/openapi.json has each answer."
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, help="the default is 1; of schedules it is drawn")
    parser.add_argument("--schedules", type=from_on(1), help="in place of a load of so many minutes")
    parser.add_argument("--calm", action="store_true", help="no crashes")
    parser.add_argument(
        "--spark", action="store_true", help="fan out, fold an ack log and reconcile by Spark"
    )
    parser.add_argument("--faults", type=float, help=f"the default is {FAULTS:g}, and 0 in a calm run")
    given = parser.parse_args()
    if given.faults is None:
        given.faults = 0.0 if given.calm else FAULTS
    logging.getLogger("fanin").setLevel(logging.CRITICAL)  # the consumers' failures are made on purpose
    if given.seed is None:
        given.seed = random.randrange(10**6) if given.schedules else 1
    if given.schedules:
        return faults(given.schedules, given.seed)
    print(f"seed {given.seed}, {given.minutes:g} minutes of load", flush=True)
    report = soak(Plan(given.minutes * 60, given.seed, given.calm, given.spark, given.faults))
    print(text_of(report))
    keep("soak", f'make soak ARGS="{arguments(given)}"', COLUMNS, [row(report)], note(report))
    return 0 if all(rule.holds for rule in report.rules) else 1


def faults(schedules: int, seed: int) -> int:
    """Run schedules, and keep the table of their faults."""
    print(f"seed {seed}", flush=True)
    report = soak(Plan(0.0, seed, calm=True, schedules=schedules))
    print(*(f"{verdict(rule):<7} {rule.name}: {rule.seen}" for rule in report.rules), sep="\n")
    violations = sum(len(rule.broken) for rule in report.rules)
    text = NOTE.format(
        schedules=schedules,
        seed=seed,
        load=load_of(report),
        requests=report.requests,
        faults=injected(report),
        violations=violations,
        statuses=", ".join(f"{status} {count:,}" for status, count in sorted(report.statuses.items())),
        kinds=", ".join(f"{kind.value} {report.chaos[FAULT + kind.value]:,}" for kind in Kind),
    )
    print(text)
    numbers = (f"{number:,}" for number in (schedules, report.requests, injected(report), violations))
    found = ("over HTTP, SQS and streams", *numbers)
    keep("faults", f'make faults ARGS="--schedules {schedules} --seed {seed}"', OF_FAULTS, [found], text)
    return 0 if all(rule.holds for rule in report.rules) else 1


def arguments(given: argparse.Namespace) -> str:
    flags = [f"--{name}" for name in ("calm", "spark") if getattr(given, name)]
    return " ".join([f"--minutes {given.minutes:g} --seed {given.seed} --faults {given.faults:g}", *flags])


def verdict(rule: Rule) -> str:
    return "holds" if rule.holds else "BROKEN"


def row(report: Report) -> tuple[str, ...]:
    """Return the row for docs/proof.md."""
    broken = sum(not rule.holds for rule in report.rules)
    numbers = report.minutes, len(report.rules), broken, injected(report)
    return ("mixed load", *(f"{number:,.0f}" for number in numbers))


def injected(report: Report) -> int:
    """Return the number of faults on the wire."""
    return sum(count for name, count in report.chaos.items() if name.startswith(FAULT))


def text_of(report: Report) -> str:
    rows = [f"{verdict(rule):<7} {rule.name}: {rule.seen}" for rule in report.rules]
    logged = "metrics: " + ", ".join(f"{name} {sum_:,}" for name, sum_ in sorted(report.metrics.items()))
    return "\n".join(
        [*rows, logged, *(f"{name}: {series}" for name, series in report.memory.items()), note(report)]
    )


def note(report: Report) -> str:
    """Return the load and the crashes in a sentence."""
    others = {name: count for name, count in sorted(report.chaos.items()) if not name.startswith(FAULT)}
    chaos = ", ".join(
        [*(f"{count} {name}" for name, count in others.items()), f"{injected(report):,} faults"]
    )
    return f"{report.minutes:.0f} minutes: {load_of(report)}. {chaos}."


def load_of(report: Report) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(report.load.items()))


if __name__ == "__main__":
    ended(main)
