"""The statements of Carlyle, in their order, over tables in memory: our own code, served over HTTP."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lab.peers.delivering import Delivering
from lab.peers.sites.carlyle_model import Carlyle
from tests.conformance.serving import served


@dataclass
class Counted(Carlyle):
    """Counts the statements. Some are in one transaction, which waits as long as they do."""

    statements: int = 0

    @contextmanager
    def statement(self) -> Iterator[None]:
        with super().statement():
            self.statements += 1
            yield


@dataclass
class CarlyleSite:
    """Carlyle on tables without bytes: what its rows take is not measured."""

    queue: Delivering
    tracker: Counted

    def publish(self) -> None:
        batch = self.tracker.open()
        groups = self.tracker.add(batch, self.queue.case.items).groups
        self.tracker.close(batch)
        self.queue.config["prefix"] = [f"{batch}:{group.id}" for group in groups]
        self.queue.fill()

    def start(self) -> subprocess.Popen[Any]:
        return self.queue.start()

    def sample(self) -> None:
        """Look at nothing."""

    def facts(self) -> dict[str, float]:
        return {"requests": self.tracker.statements}


@contextmanager
def carlyle(queue: Delivering) -> Iterator[CarlyleSite]:
    """Yield the site, which is served until the end of the block."""
    tracker = Counted()
    with served(tracker) as url:
        queue.config["carlyle"] = url
        yield CarlyleSite(queue, tracker)
