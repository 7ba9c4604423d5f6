"""The log of a run, to which all its processes append. ``judging`` reads it."""

from __future__ import annotations

import os
import time
from pathlib import Path


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

    def _write(self, kind: str, name: object) -> None:
        os.write(self._file, f"{kind} {name} {time.monotonic_ns()}\n".encode())
