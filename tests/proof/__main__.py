"""Runs what takes hours: ``python -m tests.proof``; the same command goes on where it stopped.

Seeds of the simulators, small scenarios explored whole, histories, broken rules, races over HTTP, tests
marked ``proof``. Chunks that are done are kept in ``build/proof/done`` until the code that they ran changes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from math import inf

from tests.proof import broken_rules, commands, explored, recorded, simulators, table
from tests.proof.arguments import from_on, minutes
from tests.proof.fingerprint import fingerprint_of
from tests.proof.interrupting import INTERRUPTED
from tests.proof.journal import Journal
from tests.proof.pool import results
from tests.proof.work import Part, evenly

SEEDS, HISTORIES = 1_000_000, 50_000
LEAST = 200
"""Seeds, or histories, of which each part gets one at least."""
SECONDS_BETWEEN_LINES = 10.0
STAGES: dict[str, Callable[[argparse.Namespace], list[Part]]] = {
    simulators.STAGE: lambda wanted: simulators.parts(wanted.seeds),
    explored.STAGE: lambda _: explored.parts(),
    recorded.STAGE: lambda wanted: recorded.parts(wanted.histories),
    broken_rules.STAGE: lambda _: broken_rules.parts(),
    commands.RACES: lambda _: commands.parts(commands.RACES),
    commands.EXAMPLES: lambda _: commands.parts(commands.EXAMPLES),
}


def main(argv: list[str] | None = None) -> int:
    """Return 0 if no promise was broken, 1 if one was."""
    wanted = _parser().parse_args(argv)
    deadline = time.monotonic() + 60 * wanted.time
    stages = set(wanted.only or STAGES)
    journals, code = [], 0
    try:
        print("looking up which parts ran on the code as it is now", flush=True)
        journals = _journals(stages, wanted)
        for stage in dict.fromkeys(each.part.stage for each in journals):
            _run([each for each in journals if each.part.stage == stage], wanted.jobs, deadline)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", flush=True)
        code = INTERRUPTED
    table.show(journals)
    if not code:
        others = _journals(table.beside(stages) - stages, wanted)
        table.keep_all([*journals, *others], _command(wanted))
    return 1 if any(each.total().violations for each in journals) else code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
    parser.add_argument("--only", choices=STAGES, action="append", metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument(
        "--time", type=minutes, default=inf, metavar="MINUTES", help="begin nothing after that"
    )
    parser.add_argument("--jobs", type=from_on(1), default=2, help="processes")
    parser.add_argument("--seeds", type=from_on(LEAST), default=SEEDS, help="of all simulators together")
    parser.add_argument("--histories", type=from_on(LEAST), default=HISTORIES, help="of all capabilities")
    return parser


def _command(wanted: argparse.Namespace) -> str:
    """Return the command that runs the parts of the table again."""
    usual = {"seeds": SEEDS, "histories": HISTORIES}
    given = [f"--{name} {getattr(wanted, name)}" for name in usual if getattr(wanted, name) != usual[name]]
    return f'make proof ARGS="{" ".join(given)}"' if given else "make proof"


def _journals(stages: Collection[str], wanted: argparse.Namespace) -> list[Journal]:
    """Return the journals of *stages*, in the order of all stages."""
    return [each for stage, parts in STAGES.items() if stage in stages for each in _opened(parts(wanted))]


def _opened(parts: list[Part]) -> list[Journal]:
    """Return the journal of each part, over the code as it is now."""
    modules = sorted({part.module for part in parts})
    with ThreadPoolExecutor(2) as threads:
        fingerprints = dict(zip(modules, threads.map(fingerprint_of, modules), strict=True))
    return [Journal(part, fingerprints[part.module]) for part in parts]


def _run(journals: list[Journal], jobs: int, deadline: float) -> None:
    """Do what is left of a stage."""
    of_part = {each.part: each for each in journals}
    for journal in journals:
        _show_violations(journal.total().violations)
    shown = time.monotonic()
    for part, chunk, done in results(
        evenly((each.part, set(each.done)) for each in journals), jobs, deadline
    ):
        of_part[part].keep(chunk, done)
        _show_violations(done.violations)
        if time.monotonic() - shown > SECONDS_BETWEEN_LINES:
            shown = time.monotonic()
            print(_progress(journals), flush=True)


def _show_violations(violations: list[str]) -> None:
    for text in violations:
        print(text, flush=True)


def _progress(journals: list[Journal]) -> str:
    """Return how far each part is, on one line."""
    parts = (f"{each.part.name} {each.total().runs:,}" for each in journals)
    broken = sum(len(each.total().violations) for each in journals)
    return f"{journals[0].part.stage}: {', '.join(parts)}; {broken} violations"


if __name__ == "__main__":
    sys.exit(main())
