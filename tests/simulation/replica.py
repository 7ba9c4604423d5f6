"""What eventually consistent reads see: rows as they were some requests ago, each for itself.

DynamoDB: Read consistency. The indexes of a table have no other reads.
"""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random
from typing import Any

from fanin.tracker.memory import MemoryStore

EVENTUAL = frozenset({"due", "live", "listing", "glance"})
"""Reads of the store port that may be old; tests/tracker/test_states.py compares the tables'."""
ROWS = tuple(each.name for each in fields(MemoryStore) if each.default_factory in (dict, set))


class Replica:
    """A copy of *memory* that is caught up now and then. *lag*: how likely a row is read from it."""

    def __init__(self, memory: MemoryStore, random: Random, lag: float) -> None:
        self.memory, self._random, self._lag = memory, random, lag
        self._copy = replace(memory)
        if lag:
            self._catch_up()

    def serves(self, name: str) -> bool:
        """Whether the request of that name is answered from here."""
        return bool(self._lag) and name in EVENTUAL

    def pass_time(self) -> None:
        """Catch up, with some of the requests that are carried out."""
        if self._lag and self._random.random() < 0.1:
            self._catch_up()

    def read(self, name: str, args: tuple[Any, ...]) -> Any:
        """Answer a read, some rows of it old and others new."""
        mixed = replace(self._copy, **{table: self._rows(table) for table in ("batches", "stored_pages")})
        return getattr(mixed, name)(*args)

    def _rows(self, name: str) -> dict[Any, Any]:
        old, new = getattr(self._copy, name), getattr(self.memory, name)
        drawn = {key: old if self._random.random() < self._lag else new for key in {**old, **new}}
        return {key: rows[key] for key, rows in drawn.items() if key in rows}

    def _catch_up(self) -> None:
        self._copy = replace(self.memory, **{name: getattr(self.memory, name).copy() for name in ROWS})
