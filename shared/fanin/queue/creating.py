"""Creates queues: the doorbell first, then the config row that has its URL.

Each step can be repeated, and two creators of one queue end with the same row: the doorbell's name follows
from the queue's, and the config row is put on condition that there is none.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from fanin.errors import StoreUnavailable
from fanin.queue.config import QueueConfig
from fanin.queue.effects import Effects
from fanin.queue.errors import DoorbellMissing
from fanin.queue.keys import QueueKey
from fanin.queue.model import Options
from fanin.queue.raising import raise_parts
from fanin.queue.store import QueueStore

CREATE_ATTEMPTS = 8


class Doorbells(Protocol):
    """The doorbells of all queues."""

    def create(self, queue: QueueKey) -> str:
        """Return the URL of the doorbell of *queue*, which is created where it does not exist.

        Raises DoorbellMissing where it cannot be created yet.
        """

    def delete(self, queue: QueueKey, url: str) -> None:
        """Delete the doorbell of *queue* at *url*, unless the stack made it; repeatable."""

    def arn(self, url: str) -> str:
        """Return the ARN of the doorbell at *url*."""


class Creator(Protocol):
    """Creates queues; a store alone is a creator of queues without doorbells."""

    def create(self, queue: QueueKey, config: QueueConfig) -> QueueConfig:
        """Make sure that the queue and its doorbell exist, and return the stored config.

        *config*: of a new queue. The doorbell is None where it cannot be created yet.
        """


@dataclass(frozen=True, slots=True)
class Ensured:
    """A queue that exists, with the ARN of its doorbell; *is_new*: it did not exist before the request."""

    config: QueueConfig
    doorbell_arn: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class QueueCreator:
    """Creates queues in *store*, each with one of *doorbells*."""

    store: QueueStore
    doorbells: Doorbells
    effects: Effects = field(default_factory=Effects)

    def create(self, queue: QueueKey, config: QueueConfig) -> QueueConfig:
        url = None
        with suppress(StoreUnavailable):
            url = self.doorbells.create(queue)
        stored = self.effects.insist(lambda: self.store.create(queue, replace(config, doorbell=url)))
        return stored if url in (None, stored.doorbell) else self._with_doorbell(queue, stored, url)

    def ensure(self, queue: QueueKey, parts: int | None) -> Ensured:
        """Create the queue, unless it exists; *parts*: None for the default, or as it is.

        The parts of an existing queue are raised to *parts*. Raises Conflict for fewer, and during a raise to
        another number; DoorbellMissing where the doorbell cannot be created yet. The call can be repeated.
        """
        is_new = self.store.config(queue) is None
        stored = self.create(queue, QueueConfig(parts or Options().parts))
        if parts is not None:
            stored = raise_parts(self.store, self.effects, queue, parts)
        if stored.doorbell is None:
            raise DoorbellMissing(
                f"the doorbell of queue {queue.name!r} cannot be created yet; retry in 60 s"
            )
        return Ensured(stored, self.doorbells.arn(stored.doorbell), is_new)

    def _with_doorbell(self, queue: QueueKey, seen: QueueConfig, url: str) -> QueueConfig:
        """Store the URL in the config of an existing queue, whose doorbell was another, or none."""
        for attempt in range(CREATE_ATTEMPTS):
            new = replace(seen, doorbell=url, revision=seen.revision + 1)
            stored = self.store.reconfigure(queue, new)
            if stored is None:
                raise StoreUnavailable(f"queue {queue.name!r} was removed at the same time; retry")
            if stored.doorbell == url:
                return stored
            seen = stored
            self.effects.pause(attempt)
        raise StoreUnavailable(f"queue {queue.name!r}: too many changes of its config at once; retry")
