"""Creates queues: the doorbell first, then the config row that has its URL.

Each step can be repeated, and two creators of one queue end with the same row: the doorbell's name follows
from the queue's, and the config row is put on condition that it does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from fanin.errors import NotFound, StoreUnavailable
from fanin.queue.administration.raising import raise_parts
from fanin.queue.effects import Effects
from fanin.queue.rules.config import QueueConfig, existing, refuse_removing, removed_meanwhile
from fanin.queue.rules.errors import DoorbellMissing
from fanin.queue.rules.keys import QueueKey
from fanin.queue.rules.model import Options
from fanin.queue.store import QueueStore

CREATE_ATTEMPTS = 8


class Doorbells(Protocol):
    """The doorbells of all queues."""

    def create(self, queue: QueueKey) -> str:
        """Return the URL of the doorbell of *queue*, which is created where it does not exist.

        Raises DoorbellMissing where it cannot be created yet.
        """

    def update(self, queue: QueueKey, url: str) -> None:
        """Give an existing doorbell the key and the tags of a new one, unless the stack created it.

        Repeatable. One that does not exist is left to the next ring.
        """

    def delete(self, queue: QueueKey, url: str) -> None:
        """Delete the doorbell of *queue* at *url*, unless the stack created it; repeatable."""

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
    """Creates queues in *store*, each with one of *doorbells*.

    *admit*: called before a queue that does not exist is created; raises QuotaExceeded.
    """

    store: QueueStore
    doorbells: Doorbells
    effects: Effects = field(default_factory=Effects)
    admit: Callable[[QueueKey], None] | None = None

    def create(self, queue: QueueKey, config: QueueConfig) -> QueueConfig:
        if self.admit is not None and existing(self.store.config(queue)) is None:
            self.admit(queue)
        url = None
        with suppress(StoreUnavailable):
            url = self.doorbells.create(queue)
        new = replace(config, doorbell=url)
        stored = self.effects.answer_of(lambda: create_row(self.store, queue, new))
        return stored if url is None else self._changed(queue, stored, doorbell=url)

    def ensure(self, queue: QueueKey, parts: int | None, metrics: bool | None = None) -> Ensured:
        """Create the queue, unless it exists; *parts*, *metrics*: None for the default, or as it is.

        The parts of an existing queue are raised to *parts*. Raises Conflict for fewer, during a raise to
        another number, and for a queue that is being removed; DoorbellMissing where the doorbell cannot be
        created yet. The call can be repeated.
        """
        is_new = existing(self.store.config(queue)) is None
        stored = self.create(queue, QueueConfig(parts or Options().parts))
        refuse_removing(queue.name, stored)
        if parts is not None:
            stored = self._raised(queue, parts)
        if metrics is not None:
            stored = self._changed(queue, stored, metrics=metrics)
            refuse_removing(queue.name, stored)
        if parts is not None and stored.parts < parts:
            raise removed_meanwhile(queue.name)
        if stored.doorbell is None:
            raise DoorbellMissing(
                f"the doorbell of queue {queue.name!r} cannot be created yet; retry in 60 s"
            )
        return Ensured(stored, self.doorbells.arn(stored.doorbell), is_new)

    def _raised(self, queue: QueueKey, parts: int) -> QueueConfig:
        try:
            return raise_parts(self.store, self.effects, queue, parts)
        except NotFound:
            raise removed_meanwhile(queue.name) from None

    def _changed(self, queue: QueueKey, seen: QueueConfig, **fields: Any) -> QueueConfig:
        """Store *fields* in the config of an existing queue, and return it."""
        for attempt in range(CREATE_ATTEMPTS):
            new = replace(seen, **fields)
            if new == seen:
                return seen
            stored = self.store.reconfigure(queue, replace(new, revision=seen.revision + 1))
            if stored is None or stored.removed_us is not None:
                raise removed_meanwhile(queue.name)
            seen = stored
            self.effects.pause(attempt)
        raise StoreUnavailable(f"queue {queue.name!r}: too many changes of its config at once; retry")


def create_row(store: QueueStore, queue: QueueKey, new: QueueConfig) -> QueueConfig:
    """Store the config of a new queue, also over that of a removed one; return the stored config."""
    stored = store.create(queue, new)
    if stored.removed_us is None:
        return stored
    over = store.reconfigure(queue, replace(new, revision=stored.revision + 1))
    if over is None:
        raise removed_meanwhile(queue.name)
    return over
