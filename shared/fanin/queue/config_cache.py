"""How long a process uses the config of a queue that it has read."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from fanin.aws.forking import PerProcess
from fanin.queue.rules.config import QueueConfig

CONFIG_SECONDS = 60.0
"""The age at which a process reads the config again before it uses it, by the monotonic or the wall clock:
the monotonic clock can stand still while a machine is suspended."""
CREATE_SECONDS = 5.0
"""The pause between two attempts of a process to create a missing doorbell."""


def _new_lock() -> PerProcess[threading.Lock]:
    return PerProcess(threading.Lock)


@dataclass
class ConfigCache:
    """The config that a process read last. Safe to share, and to be forked by any thread.

    *read_at*: seconds of its monotonic clock; *wall_us*: microseconds of its wall clock.
    """

    config: QueueConfig | None = None
    read_at: float = float("-inf")
    wall_us: int = 0
    next_create: float = float("-inf")
    lock: PerProcess[threading.Lock] = field(default_factory=_new_lock, repr=False)

    def fresh(self, now: float, wall_us: int) -> QueueConfig | None:
        """Return the config that was read within the last 60 s by both clocks, if any."""
        with self.lock():
            age = max(now - self.read_at, abs(wall_us - self.wall_us) / 1_000_000)
            return self.config if age < CONFIG_SECONDS else None

    def may_create(self, now: float) -> bool:
        """Return whether a missing doorbell may be created now; True once in five seconds."""
        with self.lock():
            may = now >= self.next_create
            if may:
                self.next_create = now + CREATE_SECONDS
            return may

    def keep(self, config: QueueConfig | None, read_at: float, wall_us: int) -> None:
        """Keep *config*, unless one that was requested later is kept; the times are those of its request."""
        with self.lock():
            if read_at >= self.read_at:
                self.config, self.read_at, self.wall_us = config, read_at, wall_us
