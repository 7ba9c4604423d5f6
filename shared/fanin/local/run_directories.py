"""Where a local run keeps its files: a folder a port, with its state, its log and the emulator's own.

A run holds a lock on its folder as long as it lives, through whichever of its processes lives longest. So a
folder without a holder is what a crash left, and may go.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from fanin.local.errors import LocalRunError

STOP_SECONDS = 15.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class State:
    """What ``state.json`` says of a run.

    ``url`` of the API, ``endpoint`` of AWS, ``outputs`` of the stack, empty until the API answers; ``pid`` of
    the process that started it, ``host`` of the one that serves. ``command`` when ``fanin local up`` started
    it, not some other program. ``checkout``: the folder of the source tree that it was started from, empty
    where an older version wrote none.
    """

    port: int
    url: str
    endpoint: str
    outputs: dict[str, str]
    pid: int
    host: int
    command: bool
    checkout: str = ""


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of the run on one port."""

    path: Path

    @property
    def log(self) -> Path:
        """What the emulator said."""
        return self.path / "emulator.log"

    @property
    def scratch(self) -> Path:
        """The emulator's folder for temporary files."""
        return self.path / "tmp"

    def take(self) -> int:
        """Make the folder anew and lock it: the lock's file descriptor, to be handed on and closed."""
        _make_root(self.path.parent)
        if not self.is_abandoned():
            stop = f"fanin local down --port {self.path.name}"
            raise LocalRunError(f"{self.path} is in use by another local run; stop it with: {stop}")
        self.remove()
        self.scratch.mkdir(parents=True)
        held = self._lock()
        if held is None:
            raise LocalRunError(f"{self.path} was taken by another local run just now; try again")
        return held

    def write(self, state: State) -> None:
        """Tell the world: the file is there whole or not at all."""
        draft = self.path / "state.json.draft"
        draft.write_text(json.dumps(asdict(state), indent=2))
        draft.replace(self.path / "state.json")

    def read(self) -> State | None:
        """The state of the run, None if it wrote none yet; fields of other versions are passed over."""
        try:
            written = json.loads((self.path / "state.json").read_text())
        except FileNotFoundError:
            return None
        return State(**{field.name: written[field.name] for field in fields(State) if field.name in written})

    def is_abandoned(self) -> bool:
        """Whether no process holds the folder any more."""
        try:
            held = self._lock()
        except FileNotFoundError:
            return True
        if held is not None:
            os.close(held)
        return held is not None

    def remove(self) -> None:
        """Take the folder away; fine if it is gone."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _lock(self) -> int | None:
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor


def root() -> Path:
    """The folder of all runs of this user."""
    return Path(tempfile.gettempdir()) / f"fanin-local-{os.getuid()}"


def _make_root(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise LocalRunError(f"{folder} belongs to somebody else; set TMPDIR to a folder of yours")


def home_of(port: int) -> Home:
    """The folder of the run on *port*."""
    return Home(root() / str(port))


def homes() -> list[Home]:
    """Every folder there is, abandoned or not."""
    folder = root()
    return [Home(path) for path in sorted(folder.iterdir())] if folder.is_dir() else []


def running() -> list[State]:
    """What is said of themselves by the runs that live, by port."""
    states = [state for home in homes() if not home.is_abandoned() and (state := home.read())]
    return sorted(states, key=lambda state: state.port)


def sweep() -> None:
    """Remove what crashes left."""
    for home in homes():
        if home.is_abandoned():
            home.remove()


def end(states: Iterable[State]) -> None:
    """Stop the runs and wait until nothing of them is left."""
    for state in states:
        home = home_of(state.port)
        if not home.is_abandoned():
            # `up` stops its own run; another program only loses the emulator.
            with suppress(ProcessLookupError):
                os.kill(state.pid if state.command else state.host, signal.SIGTERM)
            _wait_for(home)
        home.remove()
    with suppress(OSError):  # other runs are there, or one has just come
        root().rmdir()


def _wait_for(home: Home) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while not home.is_abandoned():
        if time.monotonic() > deadline:
            raise LocalRunError(f"the local run of {home.path} did not stop; its processes are in state.json")
        time.sleep(POLL_SECONDS)
