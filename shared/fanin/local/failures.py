"""The failures of functions on a local run: lines of a file that any process of the run adds and reads.

The emulator adds those of deployed functions, ``fanin local work`` those of the function that it feeds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

BYTES_MAX = 1_000_000
"""The file begins anew beyond it."""
ERROR_MAX = 300
QUIET_SECONDS = 30.0
"""How long a function that was shown to fail is not shown again."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of *function* at the Unix time *at*."""

    at: float
    function: str
    error: str


@dataclass(slots=True)
class FailureLog:
    """The failures on the run whose directory is *folder*."""

    folder: Path
    now: Callable[[], float] = time.time
    _read: int = 0

    def add(self, function: str, error: str) -> None:
        """Append a failure with the first line of *error*; one that cannot be written is lost."""
        line = (error.strip().splitlines() or [""])[0][:ERROR_MAX]
        with suppress(OSError):
            if self._size() > BYTES_MAX:
                self._path.unlink()
            with self._path.open("a") as file:
                file.write(json.dumps([self.now(), function, line]) + "\n")

    def new(self) -> list[Failure]:
        """Return the failures since the last call; at first, all that are kept."""
        if self._size() < self._read:
            self._read = 0
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(self._read)
            whole, _, _ = file.read().rpartition(b"\n")
            self._read += len(whole) + bool(whole)
            return [Failure(*json.loads(line)) for line in whole.splitlines()]
        return []

    def _size(self) -> int:
        with suppress(FileNotFoundError):
            return self._path.stat().st_size
        return 0

    @property
    def _path(self) -> Path:
        return self.folder / "failures.jsonl"


@dataclass(slots=True)
class FailureNotes:
    """Makes the failures of *log* since the Unix time *since* into lines: of a function one in 30 seconds."""

    log: FailureLog
    since: float = 0.0
    now: Callable[[], float] = time.monotonic
    _unseen: dict[str, list[Failure]] = field(default_factory=dict)
    _shown: dict[str, float] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """Yield what to show by now."""
        for failure in self.log.new():
            if failure.at >= self.since:
                self._unseen.setdefault(failure.function, []).append(failure)
        now = self.now()
        for function, failures in self._unseen.items():
            if failures and now >= self._shown.get(function, now - QUIET_SECONDS) + QUIET_SECONDS:
                self._shown[function] = now
                yield _line(failures)
                failures.clear()


def _line(failures: list[Failure]) -> str:
    """Return the line for *failures* of one function, of which the last one is quoted."""
    last = failures[-1]
    times = f" ({len(failures):,} times)" if len(failures) > 1 else ""
    deployed = ":" not in last.function
    where = f"; see: fanin local logs {last.function}" if deployed else ""
    return f"{last.function} fails{times}: {last.error}{where}"
