"""Which processes belong to a local run: the host, its workers and its synthesis name the run's folder."""

from __future__ import annotations

from pathlib import Path


def naming(path: Path) -> list[int]:
    """The processes whose command line names *path*."""
    return [
        int(command.parent.name)
        for command in Path("/proc").glob("[0-9]*/cmdline")
        if str(path).encode() in _read(command)
    ]


def state(pid: int) -> str:
    """The code of the state of a process: Z for a zombie, nothing for one that is gone."""
    return _read(Path(f"/proc/{pid}/stat")).decode().rpartition(")")[2].lstrip()[:1]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
