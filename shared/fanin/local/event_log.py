"""The last events that a local run put on its bus, as lines of two files that other processes read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEPT = 500
"""A reader gets so many events; the files have up to twice as many."""

Event = dict[str, Any]


@dataclass(slots=True)
class EventLog:
    """The events of the run whose directory is *folder*: one process writes, any number read."""

    folder: Path
    _lines: int = 0

    def add(self, events: Iterable[Event]) -> None:
        """Append *events*, each as one line. A full file replaces the older one."""
        for event in events:
            if self._lines >= KEPT:
                self._newer.replace(self._older)
                self._lines = 0
            with self._newer.open("a") as file:
                file.write(json.dumps(event) + "\n")
            self._lines += 1

    def last(self) -> list[Event]:
        """Return the last events, the newest last; a line that is being written, or was cut, is left out."""
        lines: list[str] = []
        for path in (self._older, self._newer):
            with suppress(FileNotFoundError):
                lines += path.read_text().split("\n")[:-1]
        return list(_events(lines))[-KEPT:]

    @property
    def _newer(self) -> Path:
        return self.folder / "events.jsonl"

    @property
    def _older(self) -> Path:
        return self.folder / "events.older.jsonl"


def _events(lines: Iterable[str]) -> Iterator[Event]:
    """Yield the events of *lines*; one is cut if its process was killed, or the disk was full."""
    for line in lines:
        with suppress(ValueError):
            yield json.loads(line)
