"""The user's function in a process of its own, as its parent sees it: start, invoke, reload, stop."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanin.local.emulator_patches.lineage import Chain
from fanin.local.user_function import invoking

START_SECONDS = 120.0
STOP_SECONDS = 2.0
READ_BYTES = 65_536
SHOWN = 100
"""Bytes of an unreadable answer that a message quotes."""


class InvocationFailed(Exception):
    """The function raised, ran out of time, or ended its process: the whole delivery returns."""


@dataclass(slots=True)
class FunctionProcess:
    """Runs the handler of *spec*, ``module:name``, under *python* in the current directory.

    *files*: those of the app that are loaded. *is_ready*: whether the handler was imported; else *error* says
    why not.
    """

    spec: str
    python: str
    environment: Mapping[str, str]
    files: Sequence[Path] = ()
    is_ready: bool = False
    error: str = ""
    _process: subprocess.Popen[bytes] | None = None
    _requests: int = -1
    _answers: int = -1
    _unread: bytes = b""

    def start(self) -> None:
        """Start the process and import the app; ``is_ready`` is False if that fails."""
        read_requests, self._requests = os.pipe()
        self._answers, write_answers = os.pipe()
        ends = (read_requests, write_answers)
        command = [self.python, "-u", invoking.__file__, self.spec, *map(str, ends)]
        self._process = subprocess.Popen(command, env=dict(self.environment), pass_fds=ends)  # noqa: S603
        for end in ends:
            os.close(end)
        self._unread = b""
        try:
            self.error = self._answer(START_SECONDS)["error"]
        except InvocationFailed as error:
            self.error = str(error)
        self.is_ready = not self.error

    def invoke(self, event: Mapping[str, Any], seconds: float) -> Any:
        """Return the handler's answer to *event*. Raises InvocationFailed.

        A process that is late, or ended, is restarted.
        """
        trace = (Chain.of_event(event) or Chain()).with_invocation(self.spec).header()
        request = json.dumps({"event": event, "seconds": seconds, "trace": trace}).encode() + b"\n"
        try:
            self._write(request)
            answer = self._answer(seconds)
        except InvocationFailed:
            self.restart()
            raise
        if answer["error"]:
            raise InvocationFailed(f"it raised {answer['error']}")
        return answer["answer"]

    def restart(self) -> None:
        """Start the process again, with the files of the app as they are now."""
        self.stop()
        self.start()

    def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process, self.is_ready = self._process, None, False
        if process is None:
            return
        for end in (self._requests, self._answers):
            os.close(end)
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _write(self, request: bytes) -> None:
        with suppress(BrokenPipeError):  # the read of the answer finds the end
            unsent = memoryview(request)
            while unsent:
                unsent = unsent[os.write(self._requests, unsent) :]

    def _answer(self, seconds: float) -> dict[str, Any]:
        """Return the next answer, and note the files that it names. Raises InvocationFailed without one."""
        until = time.monotonic() + seconds
        while b"\n" not in self._unread:
            remaining = max(0.0, until - time.monotonic())
            if not select.select([self._answers], [], [], remaining)[0]:
                raise InvocationFailed(f"it had not returned after {seconds:g} s")
            part = os.read(self._answers, READ_BYTES)
            if not part:
                raise InvocationFailed(f"its process ended with exit code {self._exit_code()}")
            self._unread += part
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:  # the app wrote to a descriptor that is not its own
            raise InvocationFailed(f"its answer is not readable: {line[:SHOWN]!r}") from None
        self.files = [Path(file) for file in answer["files"]]
        return answer

    def _exit_code(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(STOP_SECONDS) if self._process else None
        return None
