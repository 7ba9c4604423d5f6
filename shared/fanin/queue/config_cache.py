"""How long a process uses the config of a queue that it has read."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from fanin.queue.config import QueueConfig

CONFIG_SECONDS = 60.0
"""The age, by the monotonic clock, at which a process reads the config again before it uses it."""


@dataclass
class ConfigCache:
    """The config that a process read last; *read_at*: seconds of its monotonic clock. Safe to share."""

    config: QueueConfig | None = None
    read_at: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def fresh(self, now: float) -> QueueConfig | None:
        """Return the config that was read within the last 60 s, if any."""
        with self.lock:
            is_fresh = now - self.read_at < CONFIG_SECONDS
            return self.config if is_fresh else None

    def keep(self, config: QueueConfig | None, read_at: float) -> None:
        """Keep *config*, unless one that was requested later is kept; *read_at*: when it was requested."""
        with self.lock:
            if read_at >= self.read_at:
                self.config, self.read_at = config, read_at
