"""A counter and a set in Redis, fed by our own queue; and what every tracker in Redis is measured by."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import Any

from lab.peers.delivering import Delivering
from lab.peers.sites.acking import COUNTER, PENDING
from lab.peers.sites.redis_client import Redis

OURS = ("cmdstat_info", "cmdstat_config|resetstat", "cmdstat_flushall")
PORTION = 5_000


class RedisUsage:
    """The commands and the memory of a Redis since this was made; it is emptied first."""

    def __init__(self, port: int) -> None:
        self.redis = Redis(port)
        self.redis.call("FLUSHALL")
        self.redis.call("CONFIG", "RESETSTAT")
        self.before = self.peak = self.last = self._used()

    def sample(self) -> None:
        """Look at the memory."""
        self.last = self._used()
        self.peak = max(self.peak, self.last)

    def facts(self) -> dict[str, float]:
        """Return all commands, those of scripts too, and the bytes at the peak and at the end."""
        stats = self.redis.info("commandstats")
        calls = {name: int(each.split(",")[0].removeprefix("calls=")) for name, each in stats.items()}
        return {
            "requests": sum(count for name, count in calls.items() if name not in OURS),
            "peak_bytes": self.peak - self.before,
            "kept_bytes": self.last - self.before,
        }

    def _used(self) -> int:
        return int(self.redis.info("memory")["used_memory"])


@dataclass
class RedisSite:
    """A counter, or a set, in Redis."""

    queue: Delivering
    usage: RedisUsage

    def publish(self) -> None:
        items = self.queue.case.items
        if self.queue.kind == "redis-counter":
            self.usage.redis.call("SET", COUNTER, items)
        else:
            for first in range(0, items, PORTION):
                self.usage.redis.call("SADD", PENDING, *range(first, min(first + PORTION, items)))
        self.queue.fill()

    def start(self) -> subprocess.Popen[Any]:
        return self.queue.start()

    def sample(self) -> None:
        self.usage.sample()

    def facts(self) -> dict[str, float]:
        return self.usage.facts()
