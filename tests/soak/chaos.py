"""Crashes: function processes of the emulator, and workers of the queue, killed and frozen at random."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions
from tests.soak import referee
from tests.soak.load.ledger import Ledger
from tests.soak.load.work import Queueing
from tests.soak.memory import family

ENDINGS_A_DELIVERY = 10
"""Ended batches of one delivery of the stream, at the pace of the load."""


def host_of(run: LocalRun) -> int:
    """Return the process of the emulator."""
    return run._emulator.process.pid


@dataclass
class Chaos:
    """What is done to the processes of the run, which this program started."""

    run: LocalRun
    ledger: Ledger
    queueing: Queueing
    chance: random.Random

    def __post_init__(self) -> None:
        deployed = functions.by_handler(self.run.client("lambda"))
        self.publishes = deployed["publish_endings"]["FunctionName"]

    def kill_function(self) -> None:
        """Kill one function process, working or idle."""
        workers = [pid for pid in family(host_of(self.run))[1:] if is_function(pid)]
        if workers:
            with suppress(ProcessLookupError, FileNotFoundError):
                victim = self.chance.choice(workers)
                if self.publishes in Path(f"/proc/{victim}/cmdline").read_text():
                    # Its delivery comes again, and its ended batches are counted again.
                    self.ledger.doubt(referee.ENDED, ENDINGS_A_DELIVERY)
                os.kill(victim, signal.SIGKILL)
                self.ledger.happened("function processes killed")

    def freeze_function(self) -> None:
        """Stop one function process for a short time."""
        workers = [pid for pid in family(host_of(self.run))[1:] if is_function(pid)]
        if workers:
            victim = self.chance.choice(workers)
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGSTOP)
                self.ledger.happened("function processes frozen")
                time.sleep(self.chance.uniform(0.1, 2.0))
                os.kill(victim, signal.SIGCONT)

    def happen(self) -> None:
        """Do one of these."""
        self.chance.choice(
            [
                self.kill_function,
                self.kill_function,
                self.freeze_function,
                self.queueing.kill,
                self.queueing.freeze,
            ]
        )()


def is_function(pid: int) -> bool:
    """Return whether the process runs a deployed function."""
    with suppress(OSError):
        return b"python" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
