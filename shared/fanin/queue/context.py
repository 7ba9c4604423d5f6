"""What each service of a queue works with: the store, the doorbell, the key, the options and the effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from fanin.errors import InvalidRequest, StoreUnavailable
from fanin.queue.administration.creating import Creator, create_row
from fanin.queue.config_cache import ConfigCache
from fanin.queue.doorbell import Doorbell
from fanin.queue.effects import Effects
from fanin.queue.rules.config import QueueConfig, existing
from fanin.queue.rules.errors import DoorbellMissing
from fanin.queue.rules.key_rows import Check, KeyRows, rows_of
from fanin.queue.rules.keys import JobKey, PartKey, QueueKey
from fanin.queue.rules.model import Options, OutboxEntry, Ring
from fanin.queue.store import QueueStore
from fanin.user_functions import synchronous

Reporter = Callable[[OutboxEntry], None]
T = TypeVar("T")
LONG_PAUSE = 8
"""The attempt before which ``Effects.pause`` sleeps up to its longest pause, two seconds."""


@dataclass(frozen=True, slots=True)
class QueueContext:
    """One queue as one process uses it.

    *report*: called with each outbox entry, at least once; None leaves the entries to other processes.
    *creator*: creates the queue, with its doorbell, where it does not exist; None: the store, without one.
    """

    store: QueueStore
    doorbell: Doorbell
    key: QueueKey
    options: Options = field(default_factory=Options)
    effects: Effects = field(default_factory=Effects)
    report: Reporter | None = None
    cache: ConfigCache = field(default_factory=ConfigCache)
    creator: Creator | None = None

    def __post_init__(self) -> None:
        """Refuse a *report* that does no work when it is called."""
        synchronous(self.report, "report")

    def config(self) -> QueueConfig:
        """Return the config of the queue, read within the last 60 s; the first use creates the queue."""
        return self.known() or self.create()

    def known(self) -> QueueConfig | None:
        """Return the config, read within the last 60 s; None for a queue that does not exist."""
        return self.cache.fresh(self.effects.monotonic(), self.effects.now()) or self.read_config()

    def read_config(self) -> QueueConfig | None:
        """Read the config of the queue now; None for a queue that does not exist, or was removed."""
        read_at, wall_us = self.effects.monotonic(), self.effects.now()
        stored = existing(self.effects.answer_of(lambda: self.store.config(self.key)))
        self.cache.keep(stored, read_at, wall_us)
        return stored

    def refresh(self, revision: int) -> None:
        """Read the config where one of a later *revision* than the cached one is stored."""
        cached = self.cache.config
        if cached is None or cached.revision < revision:
            self.read_config()

    def write_config(self, config: QueueConfig) -> bool:
        """Store *config* over the one of the revision before it; return whether it is stored now."""
        read_at, wall_us = self.effects.monotonic(), self.effects.now()
        stored = self.effects.answer_of(lambda: self.store.reconfigure(self.key, config))
        if stored == config:
            self.cache.keep(existing(config), read_at, wall_us)
        return stored == config

    def create(self) -> QueueConfig:
        """Make sure that the queue and its doorbell exist, and return the config."""
        read_at, wall_us = self.effects.monotonic(), self.effects.now()
        new = QueueConfig(self.options.parts)
        create = self.creator.create if self.creator else partial(create_row, self.store)
        stored = self.effects.answer_of(lambda: create(self.key, new))
        self.cache.keep(stored, read_at, wall_us)
        return stored

    def part(self, number: int) -> PartKey:
        """Return the key of the part *number*."""
        return PartKey(self.key, number)

    def parts(self) -> list[PartKey]:
        """Return the keys of all parts."""
        return [self.part(number) for number in range(self.config().parts)]

    def rows(self, name: str) -> KeyRows:
        """Return the rows that can hold a job *name*."""
        return rows_of(self.config(), self.key, name)

    def check(self, key: JobKey | None) -> Check | None:
        """Read the row of *key*, for the condition that it holds no live job and does not change."""
        return None if key is None else Check(key, self.effects.answer_of(lambda: self.store.get(key)))

    def ring(self, rings: Sequence[Ring], delay: float = 0.0) -> None:
        """Ring the doorbell; if a ring cannot be sent, the sweep rings later."""
        with suppress(StoreUnavailable):
            self.at_doorbell(lambda bell: bell.ring(rings, delay))

    def wait(self, seconds: float, most: int) -> Sequence[Ring]:
        """Return the first 1 to *most* rings; none after *seconds*, or soon where there is no doorbell."""
        try:
            return self.at_doorbell(lambda bell: bell.wait(seconds, most))
        except DoorbellMissing:
            self.effects.pause(LONG_PAUSE)
            return ()

    def pause(self, seconds: float) -> None:
        """Wait for *seconds* without receiving rings."""
        self.doorbell.pause(seconds)

    def delete(self, rings: Sequence[Ring]) -> None:
        """Delete received rings; one that cannot be deleted may arrive again."""
        with suppress(StoreUnavailable):
            self.doorbell.at(self._doorbell_of(self.known())).delete(rings)

    def at_doorbell(self, request: Callable[[Doorbell], T]) -> T:
        """Send a request to the doorbell of an existing queue, which is created where it is missing."""
        url = self._doorbell_of(self.known())
        try:
            return request(self.doorbell.at(url))
        except DoorbellMissing:
            if not self.cache.may_create(self.effects.monotonic()):
                raise
        return request(self.doorbell.at(self._recreated()))

    def _recreated(self) -> str | None:
        """Return the URL of the doorbell after its creation, which this process may not be granted."""
        self._doorbell_of(self.read_config())
        try:
            return self.create().doorbell
        except InvalidRequest as error:
            raise DoorbellMissing(str(error)) from error

    def _doorbell_of(self, config: QueueConfig | None) -> str | None:
        """Return the URL of the doorbell. Raises DoorbellMissing for a removed queue: a ring creates none."""
        if config is None:
            raise DoorbellMissing(f"queue {self.key.name!r} does not exist, or was removed")
        return config.doorbell
