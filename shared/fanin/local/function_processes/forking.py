"""Forks the processes of functions from a process that has loaded their libraries. Linux only.

The emulator starts the process of a function by ``subprocess.Popen``; ``Forking.popen`` replaces it. Each
pair of code and layers has one fork server. Where a forked process would differ from a new interpreter, a new
interpreter is started: if the function has another value of an environment variable that the loaded
libraries or the interpreter read at their start, or if a library started a thread. What it gains and costs is
measured in docs/performance/local_run.md.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fanin.local.function_processes import fork_server
from fanin.local.function_processes.forked_process import Forked, adopt_orphans

logger = logging.getLogger("fanin.local")

SWITCH = "FANIN_LOCAL_FORK"
"""An environment variable; ``off`` starts a new interpreter for each process of a function."""
SCRIPT = "_worker.py"
"""The emulator's script of a Python function; the command ends with it."""
LAYERS = "_LAMBDA_LAYERS_DIRS"
OF_INTERPRETER = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "OPENSSL_", "SSL_")
"""Prefixes of the variables that an interpreter and its libraries in C read at their start."""
START_SECONDS = 60.0
FORK_SECONDS = 10.0
SERVERS = 6
"""Fork servers of a run; the oldest one ends for a new one."""


class CannotFork(Exception):
    """A forked process would differ from a new interpreter, or the fork server does not answer."""


@dataclass(slots=True)
class ForkServer:
    """Forks processes that have loaded the libraries of *folders*, which are in the order of the search path.

    *environment*: that of the process. *read*: the variables of it that the libraries read.
    *is_lost*: it does not answer any more.
    """

    folders: Sequence[str]
    environment: Mapping[str, str]
    read: Mapping[str, str | None] = field(default_factory=dict)
    can_fork: bool = False
    is_lost: bool = False
    _requests: socket.socket | None = None
    _process: subprocess.Popen[bytes] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, interpreter: str) -> None:
        """Start the process and wait until it has loaded the libraries; ``can_fork`` is False if it fails."""
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [interpreter, fork_server.__file__, str(theirs.fileno()), *self.folders]
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command, env=dict(self.environment), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        try:
            answer = self._answer(START_SECONDS)
        except CannotFork as error:
            logger.warning("a fork server did not start, functions get new interpreters: %s", error)
        else:
            self.read, self.can_fork = answer["read"], answer["can_fork"]
        if not self.can_fork:
            self.stop()

    def fork(self, script: str, folder: str, environment: Mapping[str, str]) -> Forked:
        """Return a new process that runs *script* in *folder*. Raises CannotFork."""
        self._check(environment)
        request = {"script": script, "cwd": folder, "env": dict(environment)}
        pipes = [os.pipe() for _ in fork_server.STANDARD]
        theirs, ours = (pipes[0][0], pipes[1][1], pipes[2][1]), (pipes[0][1], pipes[1][0], pipes[2][0])
        try:
            pid = self._forked(json.dumps(request).encode(), theirs)
        except CannotFork:
            _close(ours)
            raise
        finally:
            _close(theirs)
        return Forked.connected(pid, *ours)

    def stop(self) -> None:
        """End the process, after the fork under way; those that it forked continue. May be called twice."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._requests is not None:
            self._requests.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _check(self, environment: Mapping[str, str]) -> None:
        """Raise CannotFork if a forked process would differ from a new interpreter."""
        if not self.can_fork:
            raise CannotFork("its libraries started a thread, or were not loaded")
        of_interpreter = (
            name for name in {*environment, *self.environment} if name.startswith(OF_INTERPRETER)
        )
        for name in (*self.read, *of_interpreter):
            if environment.get(name) != self.environment.get(name):
                raise CannotFork(f"{name} had another value when the libraries were loaded")

    def _forked(self, request: bytes, ends: Sequence[int]) -> int:
        with self._lock:
            if self._requests is None or self.is_lost:
                raise CannotFork("the fork server ended")
            try:
                socket.send_fds(self._requests, [request], ends)
                return int(self._answer(FORK_SECONDS)["pid"])
            except (OSError, CannotFork) as error:
                self.is_lost = True
                self._end()
                raise CannotFork(f"the fork server does not answer: {error}") from error

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._requests is not None  # noqa: S101 - it was started
        self._requests.settimeout(seconds)
        try:
            answer: dict[str, Any] = json.loads(self._requests.recv(fork_server.PACKET_BYTES))
        except (OSError, ValueError) as error:
            raise CannotFork(str(error)) from error
        return answer


class Forking:
    """Starts processes as ``subprocess.Popen`` does; those of Python functions are forked where possible."""

    def __init__(self) -> None:
        self._servers: dict[tuple[str, ...], ForkServer] = {}
        self._lock = threading.Lock()

    def popen(self, command: Sequence[str], **options: Any) -> Any:
        """Return a new process of *command*."""
        if Path(command[-1]).name == SCRIPT:
            try:
                return self._forked(command, options["cwd"], options["env"])
            except CannotFork as error:
                logger.warning("a function gets a new interpreter: %s", error)
        return subprocess.Popen(command, **options)  # noqa: S603 - the emulator's own command

    def _forked(self, command: Sequence[str], folder: str, environment: Mapping[str, str]) -> Forked:
        """Fork, from a new server if the present one was killed. Raises CannotFork."""
        interpreter, script = command
        server = self._server(interpreter, folder, environment)
        try:
            return server.fork(script, folder, environment)
        except CannotFork:
            if not server.is_lost:
                raise
        return self._server(interpreter, folder, environment).fork(script, folder, environment)

    def _server(self, interpreter: str, folder: str, environment: Mapping[str, str]) -> ForkServer:
        """Return the server of the function's code and layers, which is started if there is none."""
        folders = tuple(search_path(folder, environment.get(LAYERS, "")))
        with self._lock:
            server = self._servers.get(folders)
            if server is None or server.is_lost:
                self._make_room(folders)
                server = self._servers[folders] = ForkServer(folders, dict(environment))
                server.start(interpreter)
        return server

    def _make_room(self, folders: tuple[str, ...]) -> None:
        """End the server of *folders* that is lost, or the oldest one if there are too many."""
        if folders in self._servers:
            self._servers.pop(folders).stop()
        elif len(self._servers) >= SERVERS:
            self._servers.pop(next(iter(self._servers))).stop()


def search_path(folder: str, layers: str) -> Iterator[str]:
    """Yield where Python searches for modules first: the layers, the last one first, and the code.

    The folders are those that the links of the function lead to, so that equal ones have equal names.
    """
    for layer in reversed([each for each in layers.split(os.pathsep) if each]):
        yield os.path.realpath(layer)
        if os.path.isdir(packages := os.path.join(layer, "python")):
            yield os.path.realpath(packages)
    yield os.path.realpath(folder)


def _close(ends: Sequence[int]) -> None:
    for end in ends:
        os.close(end)


def forking() -> Any:
    """Return a copy of the module ``subprocess`` whose ``Popen`` forks functions; itself where that is off.

    macOS is left out: its frameworks may start threads, which a forked child must not use.
    """
    if sys.platform != "linux" or os.environ.get(SWITCH) == "off":
        return subprocess
    try:
        adopt_orphans()
    except OSError as error:  # a sandbox that allows no prctl
        logger.warning("functions get new interpreters, because orphans cannot be adopted: %s", error)
        return subprocess
    return SimpleNamespace(**{**vars(subprocess), "Popen": Forking().popen})
