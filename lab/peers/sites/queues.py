"""The trackers that have a queue of their own, both in Redis: Celery's chord and BullMQ's flow."""

from __future__ import annotations

import json
import os
import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TextIO
from uuid import uuid4

from lab.pages.revision import ROOT
from lab.peers.driving import Case
from lab.peers.duplicates import with_duplicates
from lab.peers.sites.redis import RedisUsage
from lab.peers.sites.redis_client import HOST

APP = "lab.peers.sites.chord_app"
FLOW = ROOT / "lab" / "peers" / "sites" / "flow.mjs"


@dataclass
class QueueSite(ABC):
    """A tracker whose publisher and workers are programs: *program* runs them."""

    program: Path
    case: Case
    log: Path
    errors: TextIO
    usage: RedisUsage
    port: int

    def start(self) -> subprocess.Popen[Any]:
        return subprocess.Popen(  # noqa: S603 - installed by us, with pinned packages
            self.worker(), env=self.environment(), stdout=self.errors, stderr=self.errors, cwd=ROOT
        )

    def sample(self) -> None:
        self.usage.sample()

    def facts(self) -> dict[str, float]:
        return self.usage.facts()

    def publish(self) -> None:
        subprocess.run(  # noqa: S603
            self.publisher(),
            env=self.environment(),
            stdout=self.errors,
            stderr=self.errors,
            cwd=ROOT,
            check=True,
        )
        self.duplicate()

    @abstractmethod
    def publisher(self) -> list[str]:
        """Return the command that publishes."""

    @abstractmethod
    def worker(self) -> list[str]:
        """Return the command of a worker."""

    def environment(self) -> dict[str, str]:
        """Return the environment of both."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.log.parent),
            "PYTHONPATH": str(ROOT),
            "PEERS_LOG": str(self.log),
            "PEERS_WORK": str(self.case.work),
            "PEERS_REDELIVERY": str(self.case.redelivery),
            "PEERS_RESULTS": str(self.case.results),
        }

    @abstractmethod
    def duplicate(self) -> None:
        """Put copies of some of the waiting messages behind them."""

    def put_back(self, key: str, messages: list[bytes]) -> None:
        """Replace a list, whose right end is taken first, by *messages* in the order of delivery."""
        self.usage.redis.call("DEL", key)
        self.usage.redis.push(key, messages[::-1])

    def waiting(self, key: str) -> list[tuple[bytes, bool]]:
        """Return the messages of a list and copies of some, in the order of delivery."""
        messages = self.usage.redis.call("LRANGE", key, 0, -1)[::-1]
        if len(messages) != self.case.items:
            raise RuntimeError(f"{len(messages)} messages wait in {key}, not {self.case.items}")
        return with_duplicates(messages, Random(self.case.seed))


class CeleryChord(QueueSite):
    """A chord: its messages have their own tags, so a copy gets another, as a second send has."""

    def publisher(self) -> list[str]:
        return [str(self.program), "-m", APP, str(self.case.items)]

    def worker(self) -> list[str]:
        options = ["--pool", "solo", "--loglevel", "ERROR", "--without-gossip", "--without-mingle"]
        name = ["--hostname", f"{uuid4().hex}@peers"]
        return [str(self.program), "-m", "celery", "-A", APP, "worker", *options, *name]

    def environment(self) -> dict[str, str]:
        return super().environment() | {"PEERS_REDIS": f"redis://{HOST}:{self.port}/0"}

    def duplicate(self) -> None:
        self.put_back("celery", [_again(each) if copy else each for each, copy in self.waiting("celery")])


class BullFlow(QueueSite):
    """A flow: a copy is the id of a job a second time in the list of those that wait."""

    def publisher(self) -> list[str]:
        return ["node", str(FLOW), "publish", str(self.case.items)]

    def worker(self) -> list[str]:
        return ["node", str(FLOW), "work"]

    def environment(self) -> dict[str, str]:
        return super().environment() | {"PEERS_REDIS": str(self.port), "PEERS_NODE": str(self.program)}

    def duplicate(self) -> None:
        self.put_back("bull:items:wait", [each for each, _ in self.waiting("bull:items:wait")])


def _again(message: bytes) -> bytes:
    """Return a copy of a message of kombu, with a delivery tag of its own."""
    found = json.loads(message)
    found["properties"]["delivery_tag"] = str(uuid4())
    return json.dumps(found).encode()
