"""CPU and memory of a process and of all that it has started: those of its session. Linux's /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_SESSION, _TIMES = 3, slice(11, 15)
"""Fields of /proc/PID/stat after the name: the session; CPU of the process, of the system for it, and both
of its children that have ended."""


def cpu_seconds() -> float:
    """Return the CPU that this session has used so far."""
    ticks = sum(int(each) for fields in _stats() for each in fields[_TIMES])
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_megabytes() -> float:
    """Return the sum of the most memory that each process of this session had; shared pages count often."""
    return sum(_peak(path) for path, _ in _processes()) / 1024


def _stats() -> Iterator[list[str]]:
    return (fields for _, fields in _processes())


def _processes() -> Iterator[tuple[Path, list[str]]]:
    mine = str(os.getsid(0))
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[_SESSION] == mine:
            yield path, fields


def _peak(path: Path) -> int:
    try:
        lines = (path / "status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
