"""End what is overdue, repair what a crash left, resend events that were not confirmed.

Each batch has the time of its next check (``next_check_at``). The sweeper checks the batches that are due
until none is left or its time ends. Every step is idempotent, so sweepers may overlap, crash and restart.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from operator import attrgetter
from threading import Lock

from fanin.errors import NewerSchema
from fanin.pacing import Each, each_in_turn
from fanin.tracker.batch_changes.cascading import CANCELS_A_CHECK, Cascade, cancelled_with
from fanin.tracker.batch_changes.climb import Climber
from fanin.tracker.reads.progress import progress
from fanin.tracker.rules import thresholds
from fanin.tracker.rules.lifecycle import (
    CHECK_AFTER,
    CHECK_CHILD_AFTER,
    needs_repair,
    next_check,
    oldest,
    transition,
)
from fanin.tracker.rules.model import SHARDS, Batch, BatchKey, PageKey, Progress, State
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.page import Page
from fanin.tracker.rules.thresholds import Reached, reported
from fanin.tracker.rules.tree import capacity, height
from fanin.tracker.store import ResultStore, TrackerStore

PAGES_A_COUNT = 20_000
"""Pages of a level that are read to be sure of a percentage that a sample shows."""


def reached_by(store: TrackerStore, batch: Batch, at: datetime) -> list[Reached]:
    """Return the thresholds of a live *batch* that are reached and not reported, each once."""
    percentages = thresholds.percentages_left(batch) if batch.state is State.CLOSED else ()
    cheap = list(_by_row(batch, at))
    if not cheap and not percentages:
        return []
    count = progress(store, batch)
    unsure = [each for each in percentages if not thresholds.passed(batch, count.acked, each)]
    if any(thresholds.passed(batch, count.estimate, each) for each in unsure):
        count = progress(store, batch, PAGES_A_COUNT)
    found = [*cheap, *(each for each in percentages if thresholds.passed(batch, count.acked, each))]
    return [_reached(batch, each, at, count) for each in found]


def _by_row(batch: Batch, at: datetime) -> Iterator[Threshold]:
    """Yield the thresholds that the batch's row shows."""
    if thresholds.has_failed(batch):
        yield Threshold.FIRST_FAILURE
    if thresholds.stalled(batch, at):
        yield Threshold.STUCK


def _reached(batch: Batch, threshold: Threshold, at: datetime, count: Progress) -> Reached:
    stall = batch.stalls + 1 if threshold is Threshold.STUCK else 0
    return Reached(threshold, at, count, batch.total, stall)


logger = logging.getLogger(__name__)
SWEEPER = "sweeper"
PAGES_A_REPAIR = 5_000


@dataclass(slots=True)
class Sweep:
    """Counts of one sweep: batches checked, ended by time, completed by repair or with enough; events resent;
    errors; thresholds reported.
    """

    looked: int = 0
    timed_out: int = 0
    expired: int = 0
    completed: int = 0
    announced_again: int = 0
    failed: int = 0
    reached: int = 0


COUNTS = attrgetter(*(field.name for field in fields(Sweep)))


class DueList:
    """Keys of batches to check, shared by several workers; each key is taken once. *over*: none is left."""

    def __init__(self, keys: Iterator[BatchKey]) -> None:
        self._keys, self._lock, self.over = keys, Lock(), False

    def take(self) -> BatchKey | None:
        """Return the next key, or None after the last."""
        with self._lock:
            key = next(self._keys, None)
            self.over = key is None
            return key


@dataclass(slots=True)
class Sweeper:
    """Checks the due batches of one store, and calls *ended* with every batch that has ended.

    *each*: runs the workers, one for each list of due batches. *has_time*: whether there is time for
    another batch. *results*: where those of expired batches are removed.
    """

    climber: Climber
    ended: Callable[[Batch], None]
    each: Each = each_in_turn
    has_time: Callable[[], bool] = lambda: True
    results: ResultStore | None = None
    swept: Sweep = field(default_factory=Sweep)

    def sweep(self) -> Sweep:
        """Check the batches that are due now while there is time; the next sweep checks the others."""
        store, now = self.climber.store, self.climber.now()
        # Live and ended batches have separate lists, and so separate workers: neither waits for the other.
        named = [(shard, alive) for alive in (True, False) for shard in range(SHARDS)]
        lists = [DueList(_due(store, shard, alive, now)) for shard, alive in named]
        in_turn = [lists[first:] + lists[:first] for first in range(len(lists))]
        parts = self.each(lambda mine: replace(self, swept=Sweep())._work(mine), in_turn)
        return Sweep(*map(sum, zip(*map(COUNTS, parts), strict=True)))

    def _work(self, lists: Sequence[DueList]) -> Sweep:
        """Check the batches of the first list, then help with the other lists."""
        for due in lists:
            while not due.over and self.has_time():
                key = self._next(due)
                if key is None:
                    break
                self._try(key)
        return self.swept

    def _next(self, due: DueList) -> BatchKey | None:
        """Return the next batch of a list; an error is logged and counted, so the other lists go on."""
        try:
            return due.take()
        except Exception:
            logger.exception("a list of due batches could not be read")
            self.swept.failed += 1
            return None

    def _try(self, key: BatchKey) -> None:
        """Check a batch if it is due; an error is logged and counted, and the check put off."""
        batch: Batch | None = None
        try:
            batch = self.climber.store.get(key)
            if (
                batch is not None
                and batch.next_check_at is not None
                and batch.next_check_at <= self.climber.now()
            ):
                self._check(batch)
        except Exception:
            logger.exception("a batch could not be swept", extra={"batch_id": key.batch_id})
            self.swept.failed += 1
            self._put_off(batch)

    def _put_off(self, batch: Batch | None) -> None:
        """Put off the check of a batch that failed; if that fails too, the next sweep checks it."""
        try:
            if batch is not None:
                self.climber.store.postpone(batch, next_check(batch, self.climber.now()))
        except Exception:
            logger.exception("a batch stays due", extra={"batch_id": batch.batch_id if batch else None})

    def _check(self, batch: Batch) -> None:
        self.swept.looked += 1
        was_alive = batch.is_alive
        # What is all done completes, however much of it failed.
        steps = self._ended_by_time, self._cancelled_with_parent, self._repaired_if_due
        for step in (*steps, self._ended_by_failures, self._counted, self._reported):
            batch = step(batch) if batch.is_alive else batch
        if batch.is_alive:
            self.climber.store.postpone(batch, next_check(batch, self.climber.now()))
        elif was_alive:
            self.ended(batch)  # its transition set the next check
        else:
            self._finish(batch)

    def _ended_by_time(self, batch: Batch) -> Batch:
        """End the batch if its deadline or its expiry has passed; return the stored batch."""
        stored = end_by_time(self.climber, batch)
        self.swept.timed_out += stored.state is State.TIMED_OUT
        self.swept.expired += stored.state is State.EXPIRED
        return stored

    def _cancelled_with_parent(self, batch: Batch) -> Batch:
        """Cancel a live child whose parent was cancelled with its children; return the stored batch."""
        store = self.climber.store
        parent = None if batch.parent is None else store.get(batch.parent.batch)
        if parent is None or not parent.cancels_children:
            return batch
        return cancelled_with(parent, batch, self.climber.now(), store) or batch

    def _repaired_if_due(self, batch: Batch) -> Batch:
        return self._repaired(batch) if needs_repair(batch, self.climber.now()) else batch

    def _ended_by_failures(self, batch: Batch) -> Batch:
        return self.climber.end_by_failures(batch) or batch

    def _repaired(self, batch: Batch) -> Batch:
        """Repeat every climb that a crash may have interrupted; return the stored batch."""
        if batch.total:
            _climb_again(self.climber, batch)
        stored = self.climber.seal(batch, SWEEPER) or batch
        self.swept.completed += stored.state is State.COMPLETE
        return stored

    def _counted(self, batch: Batch) -> Batch:
        """End a batch of which enough items have succeeded, or too many of the acked ones have failed.

        A closed batch of which every item is acked is repaired instead, as below.
        """
        if batch.success_limit is None and batch.failure_sample is None:
            return batch
        store, count = self.climber.store, progress(self.climber.store, batch)
        if not count.exact and thresholds.may_end(batch, count):
            count = progress(store, batch, PAGES_A_COUNT)
        if batch.state is State.CLOSED and count.acked == batch.total:
            return self._repaired(batch)
        if thresholds.fails_by_sample(batch, count):
            batch = self.climber.end_by_sample(batch) or batch
        stored = store.get(batch.key) or batch  # what has failed since may be among the acked
        stored = self.climber.end_by_successes(stored, count.acked - stored.failed, SWEEPER) or stored
        self.swept.completed += stored.state is State.COMPLETE
        return stored

    def _reported(self, batch: Batch) -> Batch:
        """Report the thresholds that a live batch has reached; return it with their marks.

        A closed batch of which every item is acked is repaired instead: it only lacks its completion.
        """
        found = reached_by(self.climber.store, batch, self.climber.now())
        if batch.state is State.CLOSED and any(each.progress.acked == batch.total for each in found):
            batch = self._repaired(batch)
        if not batch.is_alive:
            return batch
        before = batch
        for reached in found:
            if self.climber.store.report(before, reached):
                self.swept.reached += 1
                batch = reported(batch, reached)
            else:
                batch = self.climber.store.get(batch.key) or batch
        return batch

    def _finish(self, batch: Batch) -> None:
        """Ack the parent's item, cancel the children, resend the ending event if it is not confirmed."""
        store = self.climber.store
        self.ended(batch)
        has_live_children = batch.cancels_children and not self._cascade().run(batch)
        if store.is_confirmed(batch.key):
            if has_live_children:
                store.postpone(batch, self.climber.now() + CHECK_CHILD_AFTER)
            else:
                self._put_away(batch)
            return
        if batch.ended_at is not None and self.climber.now() - batch.ended_at >= CHECK_AFTER:
            store.notice(batch, self.climber.now())
            self.swept.announced_again += 1
        at = next_check(batch, self.climber.now())
        store.postpone(batch, min(at, self.climber.now() + CHECK_CHILD_AFTER) if has_live_children else at)

    def _cascade(self) -> Cascade:
        return Cascade(self.climber.store, self.climber.now, self.ended, self.each, CANCELS_A_CHECK)

    def _put_away(self, batch: Batch) -> None:
        """Remove the results of a batch that is over for long; one that is kept is checked again then."""
        until = batch.results_until
        if until is not None and self.climber.now() < until:
            self.climber.store.postpone(batch, until)
            return
        if until is not None and self.results is None:
            line = "the results of batch %s stay, because the stack has no bucket of results any more"
            logger.warning(line, batch.batch_id)
        if until is None or self.results is None or self.results.delete(batch.key):
            self.climber.store.postpone(batch, None)


def end_by_time(climber: Climber, batch: Batch) -> Batch:
    """End a live batch whose deadline or expiry has passed; return the stored batch."""
    now = climber.now()
    stored: Batch | None = batch
    if batch.deadline_at is not None and batch.deadline_at <= now:
        stored = climber.store.transition(
            batch.key, transition(batch, State.TIMED_OUT, now, reason="deadline")
        )
    elif batch.expires_at <= now:
        reason = "inactivity" if batch.expires_at < oldest(batch) else "age"
        stored = climber.store.transition(batch.key, transition(batch, State.EXPIRED, now, reason=reason))
    return stored or batch


def longest_open(store: TrackerStore, now: datetime) -> timedelta:
    """Return the age of the oldest live batch; 0 if none is, or if clocks ahead of *now* opened them all."""
    opened = [_oldest(store, shard) for shard in range(SHARDS)]
    return now - min([now, *(at for at in opened if at is not None)])


def _oldest(store: TrackerStore, shard: int) -> datetime | None:
    """Return when the oldest live batch of a shard was opened; the index may lag and list ended batches."""
    found = (_readable(store, key) for key in store.live(shard))
    return next((batch.created_at for batch in found if batch is not None and batch.is_alive), None)


def _readable(store: TrackerStore, key: BatchKey) -> Batch | None:
    """Return the stored batch; None if a newer release wrote it, which the sweep reports."""
    try:
        return store.get(key)
    except NewerSchema:
        return None


def _due(store: TrackerStore, shard: int, alive: bool, at: datetime) -> Iterator[BatchKey]:
    """Yield the due batches of a list; the first query is sent when the first batch is taken."""
    yield from store.due(shard, alive, at)


def _climb_again(climber: Climber, batch: Batch) -> None:
    """Climb from each full page whose bit is not set in its parent, lowest level first."""
    budget = PAGES_A_REPAIR
    level = height(batch.total, batch.shape)
    unfinished = [PageKey(batch.key, level, 0)]
    read: list[tuple[PageKey, Page]] = []
    while level >= 0 and unfinished:
        looked, budget = unfinished[: max(budget, 0)], budget - len(unfinished)
        pages = climber.store.pages(looked)
        read += pages.items()
        begun = [key for key in looked if key in pages or not key.is_prepared]
        unfinished = [child for key in begun for child in _unknown(batch, key, pages.get(key, Page()))]
        level -= 1
    for key, page in reversed(read):
        climber.climb(batch, {key: page}, SWEEPER)


def _unknown(batch: Batch, key: PageKey, page: Page) -> list[PageKey]:
    """Return the pages below *key* whose bits are not set."""
    if key.level == 0 or page.compacted:
        return []
    first = key.number * batch.shape.fanout
    bits = (bit for bit in range(batch.shape.fanout) if not page.bits >> bit & 1)
    below = (PageKey(batch.key, key.level - 1, first + bit) for bit in bits)
    return [child for child in below if capacity(child.level, child.number, batch.total, batch.shape)]
