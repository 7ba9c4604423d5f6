"""Judges generated mutants: ``python -m tests.mutation --room tracker --file memory --sample 100``."""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, mutants_of, shown, source_of
from tests.mutation.rooms import ROOMS, ROOT, Stage, files_of, stages_of
from tests.mutation.running import Bench, Outcome, collected
from tests.proof.arguments import from_on
from tests.proof.interrupting import INTERRUPTED
from tests.proof.results import keep

EQUIVALENT = ROOT / "tests" / "mutation" / "equivalent.toml"
BUILD = ROOT / "build" / "mutation"
STATUSES = ("killed", "timeout", "equivalent", "survived")
COLUMNS = ("package", "files", "mutants", "killed", "timeout", "equivalent", "survivors", "score")


def main(argv: Sequence[str] | None = None) -> int:
    """0 where each mutant was noticed or is known as equivalent, 1 where one survived."""
    wanted = _parser().parse_args(argv)
    rooms = {room: _wanted(room, wanted) for room in ([wanted.room] if wanted.room else ROOMS)}
    if not any(rooms.values()):
        raise SystemExit("no mutant fits --file; --show prints the mutants there are")
    if wanted.show:
        print(*(shown(ROOT, mutant) for mutants in rooms.values() for mutant in mutants), sep="\n")
        return 0
    try:
        found = {room: judged(room, mutants, wanted.jobs) for room, mutants in rooms.items()}
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", flush=True)
        return INTERRUPTED
    if not wanted.file and not wanted.room:
        _publish(found, f"--sample {wanted.sample} --seed {wanted.seed}" if wanted.sample else "")
    return 1 if any(counts["survived"] for counts in found.values()) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--room", choices=sorted(ROOMS), help="this room only")
    parser.add_argument("--file", default="", help="only mutants whose id, with their path, has this pattern")
    parser.add_argument("--sample", type=from_on(0), default=0, help="so many mutants a room")
    parser.add_argument("--seed", type=from_on(0), default=16, help="of the sample")
    parser.add_argument("--jobs", type=from_on(1), default=1, help="mutants at the same time")
    parser.add_argument("--show", action="store_true", help="print the mutants, judge none")
    return parser


def equivalents() -> dict[str, str]:
    """Return the mutants that change nothing that can be observed, and why."""
    tables = tomllib.loads(EQUIVALENT.read_text()).values()
    return {name: reason for table in tables for name, reason in table.items()}


@cache
def generated(room: str) -> list[Mutant]:
    """Return all mutants of a room."""
    return [mutant for file in files_of(room) for mutant in mutants_of(source_of(ROOT / file), file)]


def _wanted(room: str, wanted: argparse.Namespace) -> list[Mutant]:
    fitting = [mutant for mutant in generated(room) if re.search(wanted.file, mutant.id)]
    if not wanted.sample:
        return fitting
    return random.Random(wanted.seed).sample(fitting, min(wanted.sample, len(fitting)))


def judged(room: str, mutants: Sequence[Mutant], jobs: int) -> Counter[str]:
    """Judge the mutants of a room that no test is known to kill; return how many have which status."""
    path = BUILD / f"{room}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = dict(map(json.loads, path.read_text().splitlines())) if path.exists() else {}
    for stage in stages_of(room):
        pending = [mutant for mutant in mutants if known.get(_key(mutant), "survived") == "survived"]
        print(f"{room}: {len(pending)} of {len(mutants)} mutants to judge", flush=True)
        if pending:
            known |= _judged(room, stage, pending, jobs)
    kinds = Counter(known.get(_key(mutant), "unjudged") for mutant in mutants)
    kinds["files"] = len({mutant.file for mutant in mutants})
    print(f"{room}: {dict(kinds)}", flush=True)
    return kinds


def _judged(room: str, stage: Stage, pending: Sequence[Mutant], jobs: int) -> dict[str, str]:
    """Return the outcomes of a stage."""
    found: dict[str, str] = {}

    def work(session: pytest.Session) -> None:
        bench = Bench(session, files_of(room), stage)
        found.update(_kept(bench.judge(pending, jobs), len(pending), BUILD / f"{room}.jsonl"))

    collected(stage.tests, work)
    return found


def _kept(outcomes: Iterable[Outcome], count: int, path: Path) -> Iterator[tuple[str, str]]:
    """Yield each outcome, and keep it but for survivors: the tests of the next time judge them anew."""
    equivalent = equivalents()
    with path.open("a") as file:
        for number, (mutant, found, _) in enumerate(outcomes, 1):
            row = _key(mutant), "equivalent" if found == "survived" and mutant.id in equivalent else found
            if row[1] == "survived":
                print(f"{number} of {count} survived: {mutant.id}", flush=True)
            else:
                file.write(json.dumps(row) + "\n")
            yield row


def _key(mutant: Mutant) -> str:
    """Return the id of a mutant and a hash of its module: a change of it begins anew."""
    return f"{mutant.id} {sha256(source_of(ROOT / mutant.file).encode()).hexdigest()[:12]}"


def _publish(found: dict[str, Counter[str]], arguments: str) -> None:
    """Keep the table for docs/proof.md. *arguments*: of a run of a sample."""
    rows = []
    for room, kinds in found.items():
        counts = [kinds[status] for status in STATUSES]
        killed, alive = kinds["killed"] + kinds["timeout"], kinds["survived"]
        score = f"{100 * killed / (killed + alive or 1):.1f} %"
        rows.append((room, *(f"{count:,}" for count in (kinds["files"], sum(counts), *counts)), score))
    mutants = sum(len(generated(room)) for room in found)
    note = f"Judged: {sum(int(row[2].replace(',', '')) for row in rows):,} of {mutants:,} generated mutants."
    command = f'make mutation ARGS="{arguments}"' if arguments else "make mutation"
    keep("generated-mutants", command, COLUMNS, rows, note)


if __name__ == "__main__":
    sys.exit(main())
