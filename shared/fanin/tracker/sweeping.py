"""What nobody else does: end what is overdue, repair what a crash left, send events that did not arrive.

A batch says when to look at it (``due_at``); the sweeper looks at those that are due. All of it is
idempotent, so that sweepers may overlap, die, and start again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fanin.tracker.climb import Climber
from fanin.tracker.life import CHECK_AFTER, next_look, turned
from fanin.tracker.model import LIFE_MAX, SHARDS, Batch, PageKey, State
from fanin.tracker.page import Page
from fanin.tracker.store import TrackerStore
from fanin.tracker.tree import capacity, height

logger = logging.getLogger(__name__)
SWEEPER = "sweeper"
BATCHES_A_SHARD = 100
BATCHES_A_GAUGE = 10
PAGES_A_REPAIR = 5_000


@dataclass(slots=True)
class Sweep:
    """What one sweep did: batches looked at, ended by time, repaired to completion, events sent again."""

    looked: int = 0
    timed_out: int = 0
    expired: int = 0
    completed: int = 0
    announced_again: int = 0
    failed: int = 0


@dataclass(slots=True)
class Sweeper:
    """Looks at the batches of one store that are due; *ended* hears of every batch that it finds ended."""

    climber: Climber
    ended: Callable[[Batch], None]
    done: Sweep = field(default_factory=Sweep)

    def sweep(self) -> Sweep:
        """Look at every batch that is due, some hundreds at most; the rest is for the next sweep."""
        store, now = self.climber.store, self.climber.now()
        for shard in range(SHARDS):
            for key in store.due(shard, now, BATCHES_A_SHARD):
                batch = store.get(key)
                if batch is not None and batch.due_at is not None and batch.due_at <= now:
                    self._try(batch)
        return self.done

    def _try(self, batch: Batch) -> None:
        """Look at a batch; one that cannot be looked at must not keep the others waiting."""
        try:
            self._look(batch)
        except Exception:
            logger.exception("a batch could not be swept", extra={"batch_id": batch.batch_id})
            self.done.failed += 1
            self.climber.store.postpone(batch, next_look(batch, self.climber.now()))

    def _look(self, batch: Batch) -> None:
        self.done.looked += 1
        if batch.is_alive:
            batch = self._ended_by_time(batch)
        if batch.is_alive:
            batch = self.climber.end_by_failures(batch, SWEEPER) or batch
        if batch.state is State.CLOSED:
            batch = self._repaired(batch)
        if batch.is_alive:
            self.climber.store.postpone(batch, next_look(batch, self.climber.now()))
        else:
            self._announce(batch)

    def _ended_by_time(self, batch: Batch) -> Batch:
        """The batch after its deadline or its time, if either has come."""
        stored = end_by_time(self.climber, batch)
        self.done.timed_out += stored.state is State.TIMED_OUT
        self.done.expired += stored.state is State.EXPIRED
        return stored

    def _repaired(self, batch: Batch) -> Batch:
        """The batch after every climb that a crash may have cut short was made again."""
        if batch.total:
            _climb_again(self.climber, batch)
        stored = self.climber.seal(batch, SWEEPER) or batch
        self.done.completed += stored.state is State.COMPLETE
        return stored

    def _announce(self, batch: Batch) -> None:
        """See to it that the world has heard of the end: the parent batch, and the bus."""
        store = self.climber.store
        self.ended(batch)
        if store.announced(batch.key):
            store.postpone(batch, None)
            return
        if batch.ended_at is not None and self.climber.now() - batch.ended_at >= CHECK_AFTER:
            store.notice(batch, self.climber.now())
            self.done.announced_again += 1
        store.postpone(batch, next_look(batch, self.climber.now()))


def end_by_time(climber: Climber, batch: Batch) -> Batch:
    """End a live batch whose deadline has passed, or whose time is over; the batch as it stands."""
    now = climber.now()
    stored: Batch | None = batch
    if batch.deadline_at is not None and batch.deadline_at <= now:
        stored = climber.store.turn(batch.key, turned(batch, State.TIMED_OUT, now, reason="deadline"))
    elif batch.expires_at <= now:
        stored = climber.store.turn(batch.key, turned(batch, State.EXPIRED, now, reason="inactivity"))
    return stored or batch


def longest_open(store: TrackerStore, now: datetime) -> timedelta:
    """The age of the oldest live batch among the few of each shard that are due soonest."""
    keys = [key for shard in range(SHARDS) for key in store.due(shard, now + LIFE_MAX, BATCHES_A_GAUGE)]
    found = (store.get(key) for key in keys)
    opened = [batch.created_at for batch in found if batch is not None and batch.is_alive]
    return now - min(opened, default=now)


def _climb_again(climber: Climber, batch: Batch) -> None:
    """Climb from each full page whose parent does not know of it, lowest level first."""
    budget = PAGES_A_REPAIR
    level = height(batch.total, batch.shape)
    unfinished = [PageKey(batch.key, level, 0)]
    full: list[tuple[PageKey, Page]] = []
    while level >= 0 and unfinished:
        looked, budget = unfinished[: max(budget, 0)], budget - len(unfinished)
        pages = climber.store.pages(looked)
        full += [(key, page) for key, page in pages.items() if page.is_full(_capacity(batch, level))]
        unfinished = [child for key in looked for child in _unknown(batch, key, pages.get(key, Page()))]
        level -= 1
    for key, page in reversed(full):
        climber.climb(batch, key, page, SWEEPER)


def _capacity(batch: Batch, level: int) -> int:
    return batch.shape.leaf if level == 0 else batch.shape.fanout


def _unknown(batch: Batch, key: PageKey, page: Page) -> list[PageKey]:
    """The pages below *key* that it does not know to be full."""
    if key.level == 0 or page.compacted:
        return []
    first = key.number * batch.shape.fanout
    bits = (bit for bit in range(batch.shape.fanout) if not page.bits >> bit & 1)
    below = (PageKey(batch.key, key.level - 1, first + bit) for bit in bits)
    return [child for child in below if capacity(child.level, child.number, batch.total, batch.shape)]
