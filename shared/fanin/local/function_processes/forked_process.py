"""A process of a function that was forked, as its parent sees it. Linux only."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import TextIO

POLL_SECONDS = 0.002
_abandoned: list[int] = []
"""Ids of processes that still ran when their object was dropped; they are waited for at the next start."""
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(are_adopted: bool = True) -> None:
    """Make this process the parent of descendants whose parent exits; or not any more."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, int(are_adopted), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


class Forked:
    """A child process of this one, with the part of the interface of ``subprocess.Popen`` that is used."""

    def __init__(self, pid: int, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.returncode: int | None = None
        self._waiting = threading.Lock()

    def __del__(self) -> None:
        """Leave the process to a later wait, or it would stay a zombie until this process ends."""
        if self.poll() is None:
            _abandoned.append(self.pid)

    @classmethod
    def connected(cls, pid: int, stdin: int, stdout: int, stderr: int) -> Forked:
        """Return the process *pid* with the other ends of its pipes, which are text in UTF-8."""
        wait_for_abandoned()
        written = open(stdin, "w", buffering=1, encoding="utf-8")  # noqa: SIM115  # closed with the object
        return cls(pid, written, open(stdout, encoding="utf-8"), open(stderr, encoding="utf-8"))

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        with self._waiting:
            if self.returncode is None:
                self.returncode = _exit_code(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when the process has ended. Raises subprocess.TimeoutExpired."""
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() >= until:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(POLL_SECONDS)
        return code

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        # Only this class waits for the process, so until then its id is not given to another one.
        if self.poll() is None:
            os.kill(self.pid, number)


def wait_for_abandoned() -> None:
    """Wait for those of the abandoned processes that have ended, as ``subprocess`` does at each start."""
    for pid in list(_abandoned):
        if _exit_code(pid) is not None:
            with suppress(ValueError):  # another thread was first
                _abandoned.remove(pid)


def _exit_code(pid: int) -> int | None:
    """Return the exit code of the child *pid*, or None while it runs; 0 if it was waited for elsewhere."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(status) if ended else None
