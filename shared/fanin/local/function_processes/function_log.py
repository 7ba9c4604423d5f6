"""The log lines of the emulator's function processes: an invocation has all lines that it wrote.

The emulator reads a process's standard error in a thread, and waits a moment for that thread when the
invocation has returned. On a busy machine the moment is too short, and the lines are missing from the log:
they come with the next invocation of that process, or never, if there is none.
"""

from __future__ import annotations

import os
import queue
import select
import subprocess
import threading
from contextlib import suppress

from ministack.core.lambda_runtime import Worker

PIPE_BYTES = 65_536
_opening = threading.Lock()


class LogPipe:
    """The standard error of *process*: its lines go to *lines*, from either thread that reads them.

    A process writes its lines before its answer, so ``read`` after the answer finds all of them in the pipe,
    or puts them into *lines* after the thread that has them.
    """

    def __init__(self, process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
        self.process, self.lines = process, lines
        self._end = os.dup(process.stderr.fileno())  # type: ignore[union-attr]  # it is a pipe
        os.set_blocking(self._end, False)
        self._part = b""
        self._is_open = True
        self._lock = threading.Lock()

    def follow(self) -> None:
        """Read until the process closes its end."""
        waiting = select.poll()
        waiting.register(self._end, select.POLLIN)
        while self._is_open:
            waiting.poll()
            self.read()
        os.close(self._end)

    def read(self) -> None:
        """Put the lines that are in the pipe into ``lines``: a pipe holds no more than one read."""
        with self._lock, suppress(BlockingIOError):
            if self._is_open:
                found = os.read(self._end, PIPE_BYTES)
                self._is_open = bool(found)
                self._split(found)

    def _split(self, found: bytes) -> None:
        *whole, self._part = (self._part + found).split(b"\n")
        if not self._is_open and self._part:
            whole.append(self._part)
        for line in whole:
            self.lines.put(line.decode(errors="replace"))


def apply() -> None:
    """Patch the emulator of this process."""
    Worker._read_stderr = follow
    Worker._drain_stderr_bounded = Worker._drain_stderr = drain


def follow(worker: Worker) -> None:
    """Read the lines of the worker's process until it ends; in place of ``Worker._read_stderr``."""
    pipe_of(worker).follow()


def drain(worker: Worker, **_waits: float) -> str:
    """Return all lines since the last call; in place of ``Worker._drain_stderr_bounded``, without a wait."""
    pipe_of(worker).read()
    lines = []
    with suppress(queue.Empty):
        while True:
            lines.append(worker._stderr_queue.get_nowait())
    return "\n".join(lines)


def pipe_of(worker: Worker) -> LogPipe:
    """Return the pipe of the worker's process; of its last one if it has ended."""
    with _opening:
        found: LogPipe | None = getattr(worker, "_log_pipe", None)
        if found is None or worker._proc not in (None, found.process):
            found = worker._log_pipe = LogPipe(worker._proc, worker._stderr_queue)
        return found
