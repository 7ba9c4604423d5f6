"""The log of a run, to which all its processes append, and what items return. ``judging`` reads the log."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

OTHER_BYTES = len('{"item":1000,"run":"","text":""}') + 32
"""Of a result, beside its text."""


def result_of(item: int, size: int) -> dict[str, object]:
    """Return what a run of *item* returns: about *size* bytes of JSON that differ in each run."""
    return {"item": item, "run": uuid4().hex, "text": "x" * (size - OTHER_BYTES)}


class Log:
    """Appends lines, each by one write, so that lines of several processes do not mix."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def work(self, item: object) -> None:
        """Say that *item* is done."""
        self._write("work", item)

    def end(self, name: object) -> None:
        """Say that the end was reported; *name* is the same for repetitions of one report."""
        self._write("end", name)

    def results(self, items: Iterable[object]) -> None:
        """Say that the end was given a result of each of *items*, once for each of them."""
        for item in items:
            self._write("result", item)

    def _write(self, kind: str, name: object) -> None:
        os.write(self._file, f"{kind} {name} {time.monotonic_ns()}\n".encode())
