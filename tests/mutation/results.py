"""The outcome of each mutant, kept in build/mutation, so that a run goes on where another one stopped."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.mutation.rooms import ROOT
from tests.mutation.running import Found

BUILD = ROOT / "build" / "mutation"


class Results:
    """The judgements of a room's mutants, a line each. *rows*: the last of a mutant; *first*: its first.

    *killers*: for each definition the tests that killed mutants of it.
    """

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        self.first: dict[str, dict[str, Any]] = {}
        self.killers: dict[str, Counter[str]] = defaultdict(Counter)
        if path.exists() and fresh:
            path.unlink()
        if path.exists():
            for line in path.read_text().splitlines():
                self._note(json.loads(line))

    def known(self, mutant_id: str, body: str, tests: str) -> bool:
        """Whether the result still holds.

        A kill holds while the definition is the same, a survival also while the tests are.
        """
        row = self.rows.get(mutant_id)
        if row is None or row["body"] != body:
            return False
        return row["status"] != "survived" or tests in row["against"]

    def keep(self, mutant_id: str, body: str, tests: str, found: Found) -> None:
        """Keep the outcome of a mutant, and against which *tests*."""
        before = self.rows.get(mutant_id)
        survived = before["against"] if before and before["body"] == body else []
        row = {"id": mutant_id, "body": body, "against": [*survived, tests]} | asdict(found)
        self._note(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as stream:
            stream.write(json.dumps(row) + "\n")

    def _note(self, row: dict[str, Any]) -> None:
        self.rows[row["id"]] = row
        self.first.setdefault(row["id"], row)
        if row["status"] == "killed":
            self.killers[":".join(row["id"].split(":")[:2])][row["by"]] += 1


@dataclass(frozen=True, slots=True)
class Score:
    """The figures of a room. *unplantable*: those that could not be judged, which are none of its mutants."""

    room: str
    files: int
    mutants: int
    killed: int
    timeout: int
    equivalent: int
    survivors: int
    unplantable: int = 0

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
        room,
        len(files),
        counted,
        kinds["killed"],
        kinds["timeout"],
        kinds["equivalent"],
        kinds["survived"],
        kinds["unplantable"],
    )


def _idle(row: dict[str, Any], equivalent: set[str]) -> bool:
    return row["status"] == "survived" and row["id"] in equivalent
