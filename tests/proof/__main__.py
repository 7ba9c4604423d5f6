"""Runs what takes hours: ``python -m tests.proof``.

Seeds of the simulators, small scenarios explored whole, histories, broken rules, races over HTTP, tests
marked ``proof``.
"""

from __future__ import annotations

import argparse
from multiprocessing import get_context

from tests.proof.arguments import from_on
from tests.proof.interrupting import ended
from tests.proof.results import keep
from tests.proof.stages import ChunkOutcome, Part, parts, timed

SEEDS, HISTORIES = 1_000_000, 50_000
LEAST = 200
"""Seeds, or histories, of which each part gets one at least."""
SECTIONS = {
    "simulators": ("seeds", "races", "examples"),
    "exhaustive": ("exhaustive",),
    "histories": ("histories",),
    "mutants": ("mutants",),
}
COLUMNS = ("what", "runs", "requests", "faults", "violations", "CPU time")
Row = tuple[str, ...]


def main(argv: list[str] | None = None) -> int:
    """Return 0 if no promise was broken, 1 if one was."""
    wanted = _parser().parse_args(argv)
    stages = [stage for section in SECTIONS.values() for stage in section]
    rows: dict[str, list[Row]] = {}
    broken = 0
    for stage in [each for each in stages if each in (wanted.only or stages)]:
        for part in parts(stage, wanted.seeds, wanted.histories):
            outcome = _run(part, wanted.jobs)
            broken += len(outcome.violations)
            rows.setdefault(stage, []).append(row(part, outcome))
            print(*rows[stage][-1], sep="  ", flush=True)
    for section, mine in SECTIONS.items():
        if found := [each for stage in mine for each in rows.get(stage, ())]:
            keep(section, _command(wanted), COLUMNS, found)
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
    stages = [stage for section in SECTIONS.values() for stage in section]
    parser.add_argument("--only", choices=stages, action="append", metavar="STAGE", help=", ".join(stages))
    parser.add_argument("--jobs", type=from_on(1), default=2, help="processes")
    parser.add_argument("--seeds", type=from_on(LEAST), default=SEEDS, help="of all simulators together")
    parser.add_argument("--histories", type=from_on(LEAST), default=HISTORIES, help="of all capabilities")
    return parser


def _command(wanted: argparse.Namespace) -> str:
    """Return the command that runs the same again."""
    given = [f"--only {stage}" for stage in wanted.only or ()]
    usual = {"seeds": SEEDS, "histories": HISTORIES}
    given += [f"--{name} {getattr(wanted, name)}" for name in usual if getattr(wanted, name) != usual[name]]
    return f'make proof ARGS="{" ".join(given)}"' if given else "make proof"


def _run(part: Part, jobs: int) -> ChunkOutcome:
    """Run the chunks of a part in processes of their own, and print what is broken."""
    total = ChunkOutcome()
    with get_context("spawn").Pool(jobs, maxtasksperchild=50) as pool:
        for outcome in pool.imap_unordered(timed, part.chunks):
            print(*outcome.violations, sep="\n", end="\n" if outcome.violations else "", flush=True)
            total.add(outcome)
    return total


def row(part: Part, outcome: ChunkOutcome) -> Row:
    """Return the cells of a part."""
    counts = [f"{count:,}" if count else "" for count in (outcome.requests, outcome.faults)]
    return part.what, f"{outcome.runs:,}", *counts, str(len(outcome.violations)), time_of(outcome.cpu)


def time_of(seconds: float) -> str:
    """Return a time as hours, minutes or seconds."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"


if __name__ == "__main__":
    ended(main)
