"""The memory of the processes of a local run, read from /proc."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

SAMPLE_SECONDS = 10.0
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20
BARS = "▁▂▃▄▅▆▇█"


def children() -> dict[int, list[int]]:
    """Return the processes of this machine by their parents."""
    found: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                found[int(fields[1])].append(int(entry.name))
    return found


def family(root: int) -> list[int]:
    """Return *root* and its descendants."""
    found, tree = [root], children()
    for pid in found:
        found += tree.get(pid, ())
    return found


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process, 0 if it is gone."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_MB
    return 0.0


class Sampler(threading.Thread):
    """Samples the memory of a process and of its descendants until it is stopped."""

    def __init__(self, root: int, seconds: float = SAMPLE_SECONDS) -> None:
        super().__init__(daemon=True)
        self.root, self.seconds = root, seconds
        self.emulator: list[tuple[float, float]] = []
        self.functions: list[tuple[float, float]] = []
        """Of one function process on average: their number follows the load."""
        self.stopped = threading.Event()

    def run(self) -> None:
        began = time.monotonic()
        while not self.stopped.is_set():
            at = time.monotonic() - began
            workers = [mb for pid in family(self.root)[1:] if (mb := resident_mb(pid))]
            self.emulator.append((at, resident_mb(self.root)))
            self.functions.append((at, sum(workers) / max(1, len(workers))))
            self.stopped.wait(self.seconds)


def drawn(series: list[tuple[float, float]], width: int = 40) -> str:
    """Return *series* as a line of bars, with its first, largest and last value."""
    values = [mb for _, mb in series] or [0.0]
    step = max(1, len(values) // width)
    shown = values[::step]
    low, high = min(shown), max(shown)
    bars = "".join(BARS[int((mb - low) / (high - low or 1) * (len(BARS) - 1))] for mb in shown)
    return f"{bars} {values[0]:.0f}, at most {max(values):.0f}, at last {values[-1]:.0f} MB"
