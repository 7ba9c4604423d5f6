"""The rows that can hold a job of a key: one, and two while the parts of its queue are raised."""

from __future__ import annotations

from dataclasses import dataclass

from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import JobKey, QueueKey, job_key
from fanin.queue.rules.model import Job


@dataclass(frozen=True, slots=True)
class KeyRows:
    """*at*: the row in which a new job of a key is stored. *other*: the row that may hold one as well."""

    at: JobKey
    other: JobKey | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A condition of a write: the row of *key* holds no job, or still the done one that was *seen*."""

    key: JobKey
    seen: Job | None

    @property
    def is_live(self) -> bool:
        """Whether a live job was seen."""
        return self.seen is not None and self.seen.is_live


def rows_of(config: QueueConfig, queue: QueueKey, name: str) -> KeyRows:
    """Return the rows of a job *name*; the old one gets new jobs until the queue's raise is prepared."""
    new = job_key(queue, config.parts, name)
    old = new if config.before is None else job_key(queue, config.before, name)
    if old == new:
        return KeyRows(new)
    return KeyRows(old, new) if config.phase is Phase.PREPARING else KeyRows(new, old)
