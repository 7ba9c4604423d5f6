"""Starts the Spark job of the demo in a process, reads its events, and ends it."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from examples.catalog.errors import DemoError
from fanin.local.emulator_process.connection import CREDENTIALS
from pipeline.shared_by_jobs.session import ROOT

MODULE = "examples.catalog.system.spark"
STOP_SECONDS = 10.0
POLL_SECONDS = 0.1
ERROR_LINES = 12

Event = Mapping[str, Any]


class SparkJob:
    """The process of the job, with its JVM and Python workers; a context manager that ends them."""

    def __init__(self, log: Path, *prepared: str) -> None:
        """Start the process; *prepared*: the arguments of the manifest that it writes meanwhile."""
        self._log = log
        self._events: queue.Queue[Event | None] = queue.Queue()
        with log.open("w") as errors:
            # A new session: Ctrl-C reaches only the demo, and the whole process group can be ended at once.
            self._process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(os.getpid()), *prepared],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(os.environ),
                start_new_session=True,
                text=True,
            )
        threading.Thread(target=self._read, daemon=True).start()

    def run(self, arguments: Sequence[str]) -> None:
        """Start the job with the *arguments* of pipeline.jobs.fan_out."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - it was asked for
        try:
            stdin.write(json.dumps(list(arguments)) + "\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def events(self) -> list[Event]:
        """Return the job's events since the last call. Raises DemoError if it failed."""
        events: list[Event] = []
        while not self._events.empty():
            event = self._events.get()
            if event is None and self._process.wait() != 0:
                raise self._failure()
            if event is not None:
                events.append(event)
        return events

    def stop(self) -> None:
        """End the process and its children, if they still run."""
        give_up = time.monotonic() + STOP_SECONDS
        # SIGTERM first: the JVM then removes its temporary files, and may outlive its parent.
        while self._signalled(signal.SIGTERM) and time.monotonic() < give_up:
            self._process.poll()
            time.sleep(POLL_SECONDS)
        self._signalled(signal.SIGKILL)
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _signalled(self, number: int) -> bool:
        """Return whether a process received the signal."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _read(self) -> None:
        for line in self._process.stdout or ():
            if line.startswith("{"):
                self._events.put(json.loads(line))
        self._events.put(None)

    def _failure(self) -> DemoError:
        code = self._process.wait()
        last_lines = "\n".join(self._log.read_text(errors="replace").splitlines()[-ERROR_LINES:])
        return DemoError(f"the Spark job ended with {code}; its log, {self._log}, ends with:\n{last_lines}")


def environment(user: Mapping[str, str]) -> dict[str, str]:
    """Return the job's environment, without the user's AWS settings and without a proxy."""
    kept = {name: value for name, value in user.items() if not name.startswith("AWS_")}
    return {
        **kept,
        **CREDENTIALS,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join((str(ROOT / "shared"), str(ROOT))),
    }
