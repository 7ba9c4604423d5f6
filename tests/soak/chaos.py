"""Crashes: function processes of the emulator, and workers of the queue, killed and frozen at random."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fanin.local import LocalRun
from tests.soak.load.ledger import Ledger
from tests.soak.load.work import Queueing


def host_of(run: LocalRun) -> int:
    """Return the process of the emulator."""
    return run._emulator.process.pid


def family(root: int) -> list[int]:
    """Return *root* and its descendants, read from /proc."""
    tree: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                tree[int(fields[1])].append(int(entry.name))
    found = [root]
    for pid in found:
        found += tree.get(pid, ())
    return found


def is_function(pid: int) -> bool:
    """Return whether the process runs a deployed function."""
    with suppress(OSError):
        return b"python" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@dataclass
class Chaos:
    """What is done to the processes of the run, which this program started."""

    run: LocalRun
    ledger: Ledger
    queueing: Queueing
    chance: random.Random

    def happen(self) -> None:
        """Kill or freeze a function, or a worker."""
        act = self.chance.choice(("kill", "kill", "freeze", "kill a worker", "freeze a worker"))
        if act == "kill a worker":
            self.queueing.kill()
        elif act == "freeze a worker":
            self.queueing.freeze()
        else:
            self.disturb(act)

    def disturb(self, act: str) -> None:
        """Kill one function process, or stop it for a short time."""
        functions = [pid for pid in family(host_of(self.run))[1:] if is_function(pid)]
        if not functions:
            return
        victim = self.chance.choice(functions)
        with suppress(ProcessLookupError):
            if act == "kill":
                os.kill(victim, signal.SIGKILL)
            else:
                os.kill(victim, signal.SIGSTOP)
                time.sleep(self.chance.uniform(0.1, 2.0))
                os.kill(victim, signal.SIGCONT)
            self.ledger.happened(f"functions: {act}")
