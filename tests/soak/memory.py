"""The memory of the processes of a local run, read from /proc."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
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


Series = list[tuple[float, float]]
EMULATOR, FUNCTION, WORKER = "emulator", "a function", "a worker"


class Sampler(threading.Thread):
    """Samples the memory of the emulator *root*, its functions and other *workers* until it is stopped.

    Of functions and workers the mean of one process: their number follows the load.
    """

    def __init__(
        self, root: int, workers: Callable[[], Iterable[int]] = tuple, seconds: float = SAMPLE_SECONDS
    ) -> None:
        super().__init__(daemon=True)
        self.root, self.workers, self.seconds = root, workers, seconds
        self.series: dict[str, Series] = {name: [] for name in (EMULATOR, FUNCTION, WORKER)}
        self.stopped = threading.Event()

    def run(self) -> None:
        began = time.monotonic()
        while not self.stopped.is_set():
            sampled = {EMULATOR: [self.root], FUNCTION: family(self.root)[1:], WORKER: self.workers()}
            for name, pids in sampled.items():
                self.series[name].append((time.monotonic() - began, mean_mb(pids)))
            self.stopped.wait(self.seconds)


def mean_mb(pids: Iterable[int]) -> float:
    """Return the mean resident memory of those processes that are there."""
    found = [mb for pid in pids if (mb := resident_mb(pid))]
    return sum(found) / max(1, len(found))


def drawn(series: Series, width: int = 40) -> str:
    """Return *series* as a line of bars, with its first, largest and last value."""
    values = [mb for _, mb in series] or [0.0]
    step = max(1, len(values) // width)
    shown = values[::step]
    low, high = min(shown), max(shown)
    bars = "".join(BARS[int((mb - low) / (high - low or 1) * (len(BARS) - 1))] for mb in shown)
    return f"{bars} {values[0]:.0f}, at most {max(values):.0f}, at last {values[-1]:.0f} MB"
