"""The files of local runs: a directory for each port, with the run's state, its log and the emulator's files.

The processes of a run hold a lock on its directory until the last of them exits. A directory that is not
locked is left over from a crash and can be removed.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from fanin.local.deployment_source import ORIGIN
from fanin.local.dynamodb_engine import leftovers
from fanin.local.errors import LocalRunError

STOP_SECONDS = 15.0
POLL_SECONDS = 0.05
REMOVALS = 20
"""Attempts to remove a folder into which processes that were killed still write."""
TAKES = 20
"""Attempts to create a directory that another process looks at or removes before it is locked."""


@dataclass(frozen=True, slots=True)
class State:
    """The content of a run's ``state.json``.

    ``url`` of the API, ``endpoint`` of AWS, ``outputs`` of the stack, empty until the API answers; ``pid`` of
    the process that started it, ``host`` of the one that serves. ``command`` when ``fanin local up`` started
    it, not another program. ``checkout``: the folder of the clone or of the installed
    packages that it was started from, empty if an older version wrote the file. ``dynamodb``: what
    ``--dynamodb`` names, if anything.
    """

    port: int
    url: str
    endpoint: str
    outputs: dict[str, str]
    pid: int
    host: int
    command: bool
    checkout: str = ""
    dynamodb: str = ""


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The directory of the run on one port."""

    path: Path

    @property
    def log(self) -> Path:
        """The emulator's output."""
        return self.path / "emulator.log"

    @property
    def scratch(self) -> Path:
        """The emulator's folder for temporary files."""
        return self.path / "tmp"

    def take(self) -> int:
        """Create the directory, lock it, and return the lock's file descriptor, which the caller closes.

        Raises LocalRunError if another run holds it.
        """
        _make_root(self.path.parent)
        if not self.is_abandoned():
            stop = f"fanin local down --port {self.path.name}"
            raise LocalRunError(f"{self.path} is in use by another local run; stop it with: {stop}")
        self.remove()
        for _ in range(TAKES):
            held = self._created()
            if held is not None:
                return held
            time.sleep(random.uniform(0, POLL_SECONDS))
        raise LocalRunError(f"{self.path} was taken by another local run just now; try again")

    def _created(self) -> int | None:
        """Create the directory and lock it; return None if another process took or removed it meanwhile."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        try:
            held = self._lock()
        except FileNotFoundError:
            return None
        if held is not None and os.fstat(held).st_nlink == 0:
            os.close(held)
            return None
        return held

    def write(self, state: State) -> None:
        """Write ``state.json`` atomically."""
        draft = self.path / "state.json.draft"
        draft.write_text(json.dumps(asdict(state), indent=2))
        draft.replace(self.path / "state.json")

    def read(self) -> State | None:
        """Return the state of the run, or None if it has not written it yet; ignore unknown fields."""
        try:
            written = json.loads((self.path / "state.json").read_text())
        except FileNotFoundError:
            return None
        return State(**{field.name: written[field.name] for field in fields(State) if field.name in written})

    def is_abandoned(self) -> bool:
        """Return whether no process holds the directory's lock."""
        try:
            held = self._lock()
        except FileNotFoundError:
            return True
        if held is not None:
            os.close(held)
        return held is not None

    def remove(self) -> None:
        """Remove the directory if it exists, and the tables of the run in an engine of the user's."""
        leftovers.delete(self.path)
        remove_folder(self.path)

    def remove_if_abandoned(self) -> None:
        """Remove the directory if no process holds its lock, which is held meanwhile."""
        try:
            held = self._lock()
        except FileNotFoundError:
            return
        if held is not None:
            self.remove()
            os.close(held)

    def _lock(self) -> int | None:
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor


def remove_folder(folder: Path) -> None:
    """Remove *folder* if it exists, also while processes that were killed still write into it."""
    for _attempt in range(REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        time.sleep(POLL_SECONDS)


def root() -> Path:
    """Return the parent directory of all runs of this user."""
    return Path(tempfile.gettempdir()) / f"fanin-local-{os.getuid()}"


def _make_root(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise LocalRunError(f"{folder} belongs to another user; set TMPDIR to a folder of yours")


def directory_of(port: int) -> RunDirectory:
    """Return the directory of the run on *port*."""
    return RunDirectory(root() / str(port))


def directories() -> list[RunDirectory]:
    """Return all run directories, abandoned or not."""
    folder = root()
    return [RunDirectory(path) for path in sorted(folder.iterdir())] if folder.is_dir() else []


def running() -> list[State]:
    """Return the states of the running local runs, sorted by port."""
    states = [
        state for directory in directories() if not directory.is_abandoned() and (state := directory.read())
    ]
    return sorted(states, key=lambda state: state.port)


def run_at(url: str) -> State | None:
    """Return the running local run whose API is at *url*; None if that is no local run of this machine."""
    return next((state for state in running() if state.url == url.rstrip("/")), None)


def meant(port: int | None, user: Mapping[str, str] = os.environ) -> list[State]:
    """Return the runs that a command may mean: the one on *port*, or else the first of these that are any.

    That of ``FANIN_URL`` in the environment *user*; those that this checkout's `up` started; those of others.
    """
    found = running()
    if port is not None:
        return [state for state in found if state.port == port]
    named = user.get("FANIN_URL", "").rstrip("/")
    by_command = [state for state in found if state.command]
    ours = [state for state in by_command if state.checkout == str(ORIGIN.folder)]
    return [state for state in found if state.url == named] or ours or by_command


def chosen(port: int | None) -> State:
    """Return the run that a command means.

    Raises LocalRunError if there is none, if there are several, or if it does not answer yet.
    """
    found = meant(port)
    if not found:
        where = "" if port is None else f" on port {port}"
        raise LocalRunError(f"there is no local run{where}; start one with: fanin local up")
    if len(found) > 1:
        urls = ", ".join(state.url for state in found)
        raise LocalRunError(f"there are {len(found)} local runs; choose one with --port: {urls}")
    return answering(found[0])


def answering(run: State) -> State:
    """Return *run*. Raises LocalRunError if it does not answer yet."""
    if not run.outputs:
        raise LocalRunError(f"the local run at {run.url} is still starting; retry when it answers")
    return run


def sweep() -> None:
    """Remove abandoned run directories."""
    for directory in directories():
        directory.remove_if_abandoned()


def end(states: Iterable[State]) -> None:
    """Stop the runs of *states*, wait for their processes and remove their directories."""
    for state in states:
        directory = directory_of(state.port)
        if not directory.is_abandoned():
            # `up` stops its own run; another program only loses the emulator.
            with suppress(ProcessLookupError):
                os.kill(state.pid if state.command else state.host, signal.SIGTERM)
            _wait_for(directory)
        directory.remove_if_abandoned()
    with suppress(OSError):  # other runs have directories there
        root().rmdir()


def _wait_for(directory: RunDirectory) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while not directory.is_abandoned():
        if time.monotonic() > deadline:
            raise LocalRunError(
                f"the local run of {directory.path} did not stop; its processes are in state.json"
            )
        time.sleep(POLL_SECONDS)
