"""Rules of the end that successes bring, of the sample of failures, and of caps, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.tracker import State, Tracker, service
from fanin.tracker.batch_changes import climb
from fanin.tracker.batch_changes.climb import Climber
from fanin.tracker.batch_changes.recording import Recorder
from fanin.tracker.batch_changes.sweeping import SWEEPER, Sweeper
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.progress import progress
from fanin.tracker.rules import children, thresholds
from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import Batch, Group, Receipt
from fanin.tracker.rules.page import Page
from tests.simulating.mutants import Mutant

_turn, _seal, _apply, _reserved = MemoryStore.transition, Climber.seal, Transition.apply, Tracker._reserve
_end, _fails_by_sample = Climber.end_by_successes, thresholds.fails_by_sample


def _one_below(batch, succeeded):
    limit = batch.success_limit
    return limit is not None and succeeded >= limit - 1 > 0


def _may_one_below(batch, succeeded):
    return _one_below(replace(batch, state=State.CLOSED), succeeded)


def _one_above(batch, succeeded):
    limit = batch.success_limit
    return limit is not None and succeeded > limit


def _percent_while_open(self):
    limits = [] if self.min_succeeded is None else [self.min_succeeded]
    if self.min_succeeded_percent is not None:
        limits.append(max(1, -(-self.total * self.min_succeeded_percent // 100)))
    return min(limits, default=None)


def _again(self, key, step):
    """A later count of what succeeded ends the batch once more, or is kept in place of the first."""
    batch = self.batches[key]
    if step.reached is None or batch.reached is None:
        return _turn(self, key, step)
    self.batches[key] = step.apply(batch)
    return self.batches[key]


def _reached_grows(self, key, mask, *others):
    written = _add_bits(self, key, mask, *others)
    batch = self.batches[key.batch]
    if written.applied and batch.reached is not None and not key.level:
        self.batches[key.batch] = replace(batch, reached=batch.reached + mask.success.bit_count())
    return written


_add_bits = MemoryStore.add_bits


def _seal_without_successes(self, batch, caller):
    return _seal(self, replace(batch, min_succeeded=None, min_succeeded_percent=None), caller)


def _counted(fresh: bool, read: str):
    """The sweep's count, with the failures as they were before it or after it, and one of its bounds."""

    def counted(self, batch):
        if batch.success_limit is None:
            return _swept(self, batch)
        count = progress(self.climber.store, batch)
        if batch.state is State.CLOSED and count.acked == batch.total:
            return self._repaired(batch)
        failed = self.climber.store.get(batch.key).failed if fresh else batch.failed
        return _end(self.climber, batch, getattr(count, read) - failed, SWEEPER) or batch

    return counted


_swept = Sweeper._counted


def _reached_as_each_caller_asked(self, batch, succeeded, caller):
    ended = _end(self, batch, succeeded, caller)
    return ended and replace(ended, completed_by=caller)


def _without_sample(batch, count):
    return _fails_by_sample(replace(batch, failure_sample=1) if batch.failure_sample else batch, count)


def _whatever_was_healed(self, batch):
    return _end_by_sample(self, replace(self.store.get(batch.key) or batch, failed=0))


_end_by_sample = Climber.end_by_sample


def _reserve_whatever_the_total(self, seen, receipt, group):
    """An add that was checked at one total is made at another."""
    batch = self.batches[seen.key]
    moved = Receipt(receipt.key, batch.total, receipt.count)
    group = GroupId.make(batch.salt, batch.batch_id, moved.start, moved.count)
    return _reserve(self, batch, moved, Group(str(group), moved.count))


_reserve = MemoryStore.reserve


def _refused_before_the_receipt(self, batch, receipt_key, count):
    if batch.state is State.OPEN:
        service.check_room(batch, count)
    return _reserved(self, batch, receipt_key, count)


ENOUGH_MUTANTS = (
    Mutant(
        "enough is the number, and not one less",
        (climb, "is_enough", _one_below),
        (climb, "may_be_enough", _may_one_below),
    ),
    Mutant("enough is the number, and not one more", (climb, "is_enough", _one_above)),
    Mutant("a failure is no success", (Page, "succeeded", property(lambda self: self.n))),
    Mutant(
        "a percentage of successes is one of the final total",
        (Batch, "success_limit", property(_percent_while_open)),
    ),
    Mutant("a batch ends once as enough", (MemoryStore, "transition", _again)),
    Mutant("a late ack does not count for what was enough", (MemoryStore, "add_bits", _reached_grows)),
    Mutant("an ack counts what has succeeded on its pages", (Recorder, "_end_by_successes", lambda *_: None)),
    Mutant("a close counts what has succeeded before it", (Climber, "seal", _seal_without_successes)),
    Mutant(
        "a sweep counts what has succeeded on all pages", (Sweeper, "_counted", lambda self, batch: batch)
    ),
    Mutant(
        "failures are read after the pages",
        (Sweeper, "_counted", _counted(fresh=False, read="acked")),
        since=5860,
    ),
    Mutant(
        "what is not read has not succeeded", (Sweeper, "_counted", _counted(fresh=True, read="upper_bound"))
    ),
    Mutant(
        "of enough the stored caller is notified",
        (Climber, "end_by_successes", _reached_as_each_caller_asked),
    ),
    Mutant("a child with enough is done", (children, "ENOUGH", "succeeded")),
    Mutant(
        "a batch with enough has items outstanding",
        (Batch, "is_done", property(lambda self: self.state is State.COMPLETE)),
    ),
    Mutant("a sample has so many acked items", (thresholds, "fails_by_sample", _without_sample)),
    Mutant("failures of a sample were not healed since", (Climber, "end_by_sample", _whatever_was_healed)),
    Mutant("an add does not pass the cap", (service, "check_room", lambda batch, count: None)),
    Mutant("two adds do not pass the cap together", (MemoryStore, "reserve", _reserve_whatever_the_total)),
    Mutant(
        "an add that filled the cap is answered again", (Tracker, "_reserve", _refused_before_the_receipt)
    ),
)
