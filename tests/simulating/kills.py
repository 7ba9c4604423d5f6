"""The seed that is known to notice each mutant, in ``kills.json`` beside its simulator.

A change of the product or of a simulator draws other schedules. A mutant that its seed no longer notices is
then searched for again, and ``python -m tests.<simulator>.mutants --write`` writes the file anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.simulating.room import Room

TESTS = Path(__file__).resolve().parents[1]


def known_seeds(room: Room) -> dict[str, int]:
    """Return the known seed by rule; empty where no file was written."""
    path = _path(room)
    found: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}
    return found


def write(room: Room, seeds: Mapping[str, int]) -> None:
    """Keep the *seeds* by rule."""
    _path(room).write_text(json.dumps(dict(sorted(seeds.items())), indent=2, ensure_ascii=False) + "\n")


def _path(room: Room) -> Path:
    return TESTS / room.package.rpartition(".")[2] / "kills.json"
