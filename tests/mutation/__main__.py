"""Judges generated mutants: ``python -m tests.mutation --room tracker --file memory --sample 100``."""

from __future__ import annotations

import argparse
import random
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import accumulate
from typing import Any

from tests.mutation.mutants import Mutant, mutants_of, shown, source_of
from tests.mutation.reach import Reach, Users, content
from tests.mutation.results import BUILD, Results, Score, score
from tests.mutation.rooms import ROOMS, ROOT, Room
from tests.mutation.running import Bench, Job, collected
from tests.proof.arguments import from_on
from tests.proof.interrupting import INTERRUPTED
from tests.proof.results import keep

EQUIVALENT = ROOT / "tests" / "mutation" / "equivalent.toml"
COLUMNS = (
    *("package", "files", "mutants", "killed", "timeout", "equivalent", "survivors"),
    *("score before", "score after"),
)
ALWAYS = re.compile(r"/(?:dynamodb/(?:requests|repairs|page_requests|thresholds)|memory)\.py$")
"""Modules whose mutants are all in a sample: the conditions of the stores."""
DRAWN = " Conditions of the requests and of the stores in memory are judged first, then rules and services."
SECONDS_A_MUTANT = 20.0
"""CPU time of the tests that a mutant must survive, the quickest first: a line may have thousands."""


def main(argv: Sequence[str] | None = None) -> int:
    """0 where each mutant was noticed or is known as equivalent, 1 where one survived."""
    wanted = _parser().parse_args(argv)
    rooms = [ROOMS[wanted.room]] if wanted.room else list(ROOMS.values())
    if wanted.show:
        return _show(rooms, wanted.show)
    if not any(_wanted(room, wanted) for room in rooms):
        raise SystemExit("no mutant fits --file and --only; --show : prints the mutants there are")
    try:
        scores = [_room(room, wanted) for room in rooms]
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", flush=True)
        return INTERRUPTED
    if not (wanted.file or wanted.only or wanted.room):
        _publish(scores, wanted)
    return 1 if any(last.survivors for _, last in scores) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--room", choices=sorted(ROOMS), help="this room only")
    parser.add_argument("--file", default="", help="only modules whose path has this pattern")
    parser.add_argument("--only", default="", help="only mutants whose id has this pattern")
    parser.add_argument(
        "--sample", type=from_on(0), default=0, help="so many mutants a room, and all of the stores"
    )
    parser.add_argument("--seed", type=int, default=16, help="of the sample")
    parser.add_argument("--jobs", type=from_on(1), default=1, help="mutants at the same time")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--show", metavar="ID", help="print the mutants whose id contains this, judge none")
    return parser


def equivalents() -> dict[str, str]:
    """Return the mutants that change nothing that can be observed, and why."""
    return {
        name: reason
        for table in tomllib.loads(EQUIVALENT.read_text()).values()
        for name, reason in table.items()
    }


@cache
def generated(room: Room) -> list[Mutant]:
    """Return all mutants of a room."""
    return [mutant for file in room.files() for mutant in mutants_of(source_of(ROOT / file), file)]


def chosen(mutants: list[Mutant], file: str, only: str, sample: int, seed: int) -> list[Mutant]:
    """Return those that the command line asks for; a sample is drawn from their ids in order."""
    fitting = [mutant for mutant in mutants if re.search(file, mutant.file) and re.search(only, mutant.id)]
    if not sample or sample >= len(fitting):
        return fitting
    ids = sorted(mutant.id for mutant in fitting if not ALWAYS.search(mutant.file))
    drawn = set(random.Random(seed).sample(ids, min(sample, len(ids))))
    return [mutant for mutant in fitting if mutant.id in drawn or ALWAYS.search(mutant.file)]


def _wanted(room: Room, wanted: argparse.Namespace) -> list[Mutant]:
    return chosen(generated(room), wanted.file, wanted.only, wanted.sample, wanted.seed)


@dataclass(slots=True)
class _Judging:
    """The judging of a room's mutants within the process that has its tests."""

    room: Room
    mutants: list[Mutant]
    wanted: argparse.Namespace
    results: Results

    def work(self, session: object) -> None:
        bench = Bench(session, self.room.files())  # type: ignore[arg-type]
        for far in (False, True):
            reach = self._reach(bench, far)
            against = _fingerprint(reach, far)
            self._judge(bench, reach, against, far)

    def _reach(self, bench: Bench, far: bool) -> Reach:
        """Trace the tests whose reach is not known, and return an index of all that may be run."""
        reach = Reach(BUILD / "reach" / f"{self.room.name}.json")
        near = {name.partition("::")[0] for name in bench.items if not self._is_far(name)}
        files = sorted({name.partition("::")[0] for name in bench.items} - near if far else near)
        bench.trace(reach.lacks(files), self.room.files(), reach.keep)
        reach.index(files)
        return reach

    def _is_far(self, test: str) -> bool:
        return test.startswith(self.room.beyond)

    def _judge(self, bench: Bench, reach: Reach, against: str, far: bool) -> None:
        bodies = {mutant.id: body_of(mutant) for mutant in self.mutants}
        pending = [
            mutant for mutant in self.mutants if not self.results.known(mutant.id, bodies[mutant.id], against)
        ]
        if far:
            pending = [mutant for mutant in pending if self._survived(mutant)]
        print(f"{self.room.name}: {len(pending)} of {len(self.mutants)} mutants to judge", flush=True)
        jobs = self._jobs(pending, reach)
        for number, (mutant, found) in enumerate(bench.judge(jobs, reach.seconds, self.wanted.jobs), 1):
            self.results.keep(mutant.id, bodies[mutant.id], against, found)
            if found.status == "survived":
                print(f"{number} of {len(pending)} survived {found.tests} tests: {mutant.id}", flush=True)
            elif number % 100 == 0:
                print(f"{number} of {len(pending)}", flush=True)

    def _survived(self, mutant: Mutant) -> bool:
        return self.results.rows.get(mutant.id, {}).get("status") == "survived"

    def _jobs(self, pending: list[Mutant], reach: Reach) -> Iterator[Job]:
        """Yield each mutant with its tests: those that noticed its neighbours first, then the quickest."""
        users = Users(self.room.files())
        for mutant in pending:
            killers = self.results.killers[f"{mutant.file}:{mutant.spot.owner}"]
            tests = reach.tests_of(mutant, users)
            known = [test for test in sorted(killers, key=lambda test: -killers[test]) if test in tests][:8]
            others = sorted(tests.difference(known), key=lambda test: (reach.seconds[test], test))
            yield Job(mutant, within([*known, *others], reach.seconds))


def within(tests: list[str], seconds: dict[str, float]) -> list[str]:
    """Return the first of *tests* that together take no more than a mutant may cost."""
    ends = accumulate(seconds[test] for test in tests)
    return [test for test, end in zip(tests, ends, strict=True) if end <= SECONDS_A_MUTANT]


def body_of(mutant: Mutant) -> str:
    """Return a hash of the lines of the mutant's definition, with those of the change."""
    lines = source_of(ROOT / mutant.file).splitlines()
    first = mutant.spot.first or mutant.lines.start
    last = max(mutant.lines.stop, first + 1)
    return sha256("\n".join([*lines[first - 1 : last], mutant.operator]).encode()).hexdigest()[:12]


def _fingerprint(reach: Reach, far: bool) -> str:
    """What a survivor has survived: the content of all test files."""
    files = {test.partition("::")[0] for test in reach.seconds}
    known = sorted((file, content(ROOT / file)) for file in files)
    return ("far " if far else "near ") + sha256(repr(known).encode()).hexdigest()[:12]


def _room(room: Room, wanted: argparse.Namespace) -> tuple[Score, Score]:
    """Judge the mutants of a room; return the score of their first judgements and that of their last ones."""
    mutants = _wanted(room, wanted)
    results = Results(BUILD / "results" / f"{room.name}.jsonl", wanted.fresh)
    collected((*room.tests, *room.beyond), _Judging(room, mutants, wanted, results).work)
    judged = [mutant for mutant in mutants if mutant.id in results.rows]
    found = [_score(room, judged, rows) for rows in (results.first, results.rows)]
    last = found[1]
    print(
        f"{last.room}: {last.mutants} of {len(mutants)} mutants, {last.killed} killed,"
        f" {last.timeout} timed out, {last.equivalent} equivalent, {last.survivors} survive:"
        f" {last.percent}, at first {found[0].percent}",
        flush=True,
    )
    return found[0], last


def _score(room: Room, judged: list[Mutant], rows: dict[str, Any]) -> Score:
    found = [mutant for mutant in judged if mutant.id in rows]
    files = {mutant.file for mutant in found}
    return score(room.name, files, [rows[mutant.id] for mutant in found], set(equivalents()))


def _publish(scores: list[tuple[Score, Score]], wanted: argparse.Namespace) -> None:
    """Keep the table for docs/proof.md, if a mutant of each room was judged."""
    if not all(last.mutants for _, last in scores):
        print("not kept for docs/proof.md: a package has no judged mutant")
        return
    rows = [(*last.cells(), first.percent, last.percent) for first, last in scores]
    command = f'make mutation ARGS="--sample {wanted.sample}"' if wanted.sample else "make mutation"
    keep("generated-mutants", command, COLUMNS, rows, _note([last for _, last in scores]))


def _note(scores: list[Score]) -> str:
    """Say how many were judged, and how many cannot be."""
    made = sum(len(generated(ROOMS[each.room])) for each in scores)
    judged, unplantable = sum(each.mutants for each in scores), sum(each.unplantable for each in scores)
    note = f"Judged: {judged:,} of {made:,} generated mutants."
    if unplantable:
        note += (
            f" {unplantable:,} change the fields of a dataclass whose methods exist: they cannot be planted."
        )
    return note + (DRAWN if judged + unplantable < made else "")


def _show(rooms: list[Room], part: str) -> int:
    for room in rooms:
        for mutant in generated(room):
            if part in mutant.id:
                print(shown(ROOT, mutant))
    return 0


if __name__ == "__main__":
    sys.exit(main())
