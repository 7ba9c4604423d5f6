"""Which processes belong to a local run: the host, its workers and its synthesis name the run's folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_SECONDS = 180


def naming(path: Path) -> list[int]:
    """The processes whose command line names *path*."""
    return [
        int(command.parent.name)
        for command in Path("/proc").glob("[0-9]*/cmdline")
        if str(path).encode() in _read(command)
    ]


def eventually(holds: Callable[[], object]) -> bool:
    """Whether *holds* comes true in good time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.1)
    return False


def state(pid: int) -> str:
    """The letter of the state of a process: Z for a zombie, nothing for one that is gone."""
    return _read(Path(f"/proc/{pid}/stat")).decode().rpartition(")")[2].lstrip()[:1]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
