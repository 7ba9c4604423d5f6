"""What a soak prints while it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.soak.load.ledger import Ledger
from tests.soak.memory import Sampler
from tests.soak.wire.proxy import FaultProxy

SECONDS = 20.0


@dataclass
class ProgressLines:
    """Prints a line of the load so far each SECONDS, until it is stopped."""

    ledger: Ledger
    sampler: Sampler
    proxy: FaultProxy
    ended: Callable[[], int]
    """Return how many batches have ended."""
    show: Callable[[str], None]

    def start(self) -> threading.Event:
        """Start to print; return what stops it."""
        over, began = threading.Event(), time.monotonic()

        def show_lines() -> None:
            while not over.wait(SECONDS):
                self.show(f"{time.monotonic() - began:5.0f} s: {self.line()}")

        threading.Thread(target=show_lines, daemon=True).start()
        return over

    def line(self) -> str:
        ledger = self.ledger
        memory = ", ".join(f"{name} {series[-1][1]:.0f} MB" for name, series in self.sampler.series.items())
        return (
            f"{len(ledger.batches)} batches, {self.ended()} events, {len(ledger.tasks)} tasks,"
            f" {ledger.jobs.total()} jobs;"
            f" {self.proxy.faults.total()} faults in {self.proxy.requests} requests,"
            f" {sum(list(ledger.chaos.values()))} disturbances, {len(ledger.errors)} errors; {memory}"
        )
