"""What became of each mutant, kept in build/mutation, so that a run goes on where another one stopped."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.mutation.rooms import ROOT
from tests.mutation.running import Found

BUILD = ROOT / "build" / "mutation"


class Results:
    """The results of a room: one line for each judged mutant, the last one counts."""

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        if self.path.exists() and not fresh:
            for line in self.path.read_text().splitlines():
                row = json.loads(line)
                self.rows[row["id"]] = row

    def known(self, mutant_id: str, body: str, tests: str) -> bool:
        """Whether the result still holds: a kill while the definition is the same, a survival also while the
        tests are."""
        row = self.rows.get(mutant_id)
        if row is None or row["body"] != body:
            return False
        return row["status"] != "survived" or row["against"] == tests

    def keep(self, mutant_id: str, body: str, tests: str, found: Found) -> None:
        row = {"id": mutant_id, "body": body, "against": tests} | asdict(found)
        self.rows[mutant_id] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as stream:
            stream.write(json.dumps(row) + "\n")

    def killers(self) -> dict[str, Counter[str]]:
        """Return for each definition the tests that killed mutants of it."""
        found: dict[str, Counter[str]] = {}
        for name, row in self.rows.items():
            if row["status"] == "killed":
                found.setdefault(":".join(name.split(":")[:2]), Counter())[row["by"]] += 1
        return found


@dataclass(frozen=True, slots=True)
class Score:
    """The figures of a room."""

    room: str
    files: int
    mutants: int
    killed: int
    timeout: int
    equivalent: int
    survivors: int

    def cells(self) -> tuple[str, ...]:
        """Return the counts as they stand in a table."""
        counts = (self.files, self.mutants, self.killed, self.timeout, self.equivalent, self.survivors)
        return (self.room, *(f"{count:,}" for count in counts))

    @property
    def percent(self) -> str:
        """Killed mutants in percent of those that can be killed."""
        judged = self.killed + self.timeout + self.survivors
        return f"{100 * (self.killed + self.timeout) / judged:.1f} %" if judged else "-"


def score(room: str, files: set[str], rows: list[dict[str, Any]], equivalent: set[str]) -> Score:
    """Return the score of a room over the judged mutants *rows*."""
    kinds = Counter("equivalent" if _idle(row, equivalent) else row["status"] for row in rows)
    counted = kinds.total() - kinds["unplantable"]
    return Score(
        room, len(files), counted, kinds["killed"], kinds["timeout"], kinds["equivalent"], kinds["survived"]
    )


def _idle(row: dict[str, Any], equivalent: set[str]) -> bool:
    return row["status"] == "survived" and row["id"] in equivalent


def previous(build: Path) -> dict[str, str]:
    """Return the first score of each room."""
    path = build / "before.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def keep_previous(scores: dict[str, str], build: Path) -> None:
    build.mkdir(parents=True, exist_ok=True)
    (build / "before.json").write_text(json.dumps(scores))
