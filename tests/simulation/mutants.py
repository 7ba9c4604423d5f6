"""The rules of the tracker, each left out once: ``python -m tests.simulation.mutants --seeds 2000``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from fanin.tracker import Mode, State, Tracker, Verdict
from fanin.tracker.batch_changes.climb import Climber
from fanin.tracker.batch_changes.recording import Recorder
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules import acking
from fanin.tracker.rules.acking import AckPlan, PagePlan
from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.lifecycle import transition
from fanin.tracker.rules.model import PageKey, Receipt
from fanin.tracker.rules.page import Page
from fanin.tracker.rules.tree import tails
from fanin.tracker.store import Written
from tests.simulating.mutants import Mutant, drive
from tests.simulation.children_mutants import CASCADE_MUTANTS, CHILDREN_MUTANTS
from tests.simulation.ending_mutants import ENDING_EQUIVALENT, ENDING_MUTANTS
from tests.simulation.enough_mutants import ENOUGH_MUTANTS
from tests.simulation.folding_mutants import FOLDING_MUTANTS
from tests.simulation.lifecycle_mutants import LIFECYCLE_EQUIVALENT, LIFECYCLE_MUTANTS
from tests.simulation.reading_mutants import READING_MUTANTS
from tests.simulation.run import ROOM

_climb, _judge, _add, _close = Climber.climb, acking.judge, Tracker.add, Tracker.close
_turn, _mark, _sent = MemoryStore.transition, Climber.mark, Recorder._sent


def _climb_if_fresh(self, batch, number, masks, seen=None):
    marked = _mark(self, batch, number, masks, seen)
    return marked if marked.fresh or seen is not None else replace(marked, page=replace(marked.page, n=0))


def _sent_and_climbed_each(self, writes):
    done = []
    for write in writes:
        done += _sent(self, [write])
        self._conclude([write], done[-1:])
    return done


def _climb_if_not_compacted(self, batch, pages, caller):
    return _climb(self, batch, {key: page for key, page in pages.items() if not page.compacted}, caller)


def _compact_each(self, batch, pages, caller):
    completed = _climb(self, batch, pages, caller)
    for key, page in pages.items():
        self.store.compact(key, page.n)
    return completed


def _compact_first(self, batch, pages, caller):
    for key, page in pages.items():
        if page.is_full(batch.shape.capacity(key.level)) and not page.compacted:
            self.store.compact(key, page.n)
    return _climb(self, batch, pages, caller)


def _complete(batch, step):
    return replace(batch, state=State.COMPLETE, completed_by=step.caller, next_check_at=step.next_check_at)


def _complete_always(self, key, step):
    if step.to is not State.COMPLETE:
        return _turn(self, key, step)
    self.batches[key] = _complete(self.batches[key], step)
    return self.batches[key]


def _complete_open_too(self, key, step):
    batch = self.batches[key]
    if step.to is not State.COMPLETE or batch.state is not State.OPEN:
        return _turn(self, key, step)
    self.batches[key] = step.apply(batch)
    return self.batches[key]


def _complete_is_mine_if_applied(self, key, step):
    if step.to is State.COMPLETE and not step.admits(self.batches[key]):
        return None
    return _turn(self, key, step)


def _notify_each_caller(self, batch, caller):
    stored = self.store.transition(batch.key, transition(batch, State.COMPLETE, self.now(), caller=caller))
    return replace(stored, completed_by=caller) if stored.state is State.COMPLETE else None


_names = count()
_new_name_each_time = property(lambda self: f"attempt {next(_names)}")


def _close_always(self, key, step):
    if step.to is not State.CLOSED:
        return _turn(self, key, step)
    self.batches[key] = step.apply(self.batches[key])
    return self.batches[key]


def _create_always(self, batch, key, instead_of, token=None):
    """Whatever the key stands for by now."""
    self.batches[batch.key] = batch
    self.names[batch.tenant, key] = batch.batch_id
    return batch.batch_id


def _reserve(state: bool, total: bool, receipt: bool) -> Callable[..., Receipt | None]:
    """The reservation with some of its three conditions."""

    def reserve(self, seen, wanted, group):
        batch, earlier = self.batches[seen.key], self.receipts.get((seen.key, wanted.key))
        if receipt and earlier:
            return earlier
        if (state and batch.state is not State.OPEN) or (total and batch.total != seen.total):
            return None
        self.receipts[seen.key, wanted.key] = wanted
        self.stretches[seen.key, wanted.start] = group
        self.batches[seen.key] = replace(batch, total=batch.total + wanted.count)
        return wanted

    return reserve


def _add_under_new_key(self, tenant, batch_id, size, key=None):
    return _add(self, tenant, batch_id, size, None)


def _judge_without_bound(batch, ack, now):
    start, verdict = _judge(batch, ack, now)
    if verdict is Verdict.OUT_OF_RANGE:
        return GroupId.decode(ack.group_id).start, None
    return start, verdict


def _replace_bits(n: bool, compacted: bool) -> Callable[..., Written]:
    """The replacement of a page with some of its conditions."""

    def replace_bits(self, key, seen, masks, expires_at, fills=False, inner=False):
        page = self.stored_pages.get(key, Page())
        if (n and page.n != seen.n) or (compacted and page.compacted):
            return Written(page, applied=False)
        if not self._count_failures(key, masks.failed.bit_count()):
            return Written(page, applied=False)
        return self._put(key, page.replaced(masks.within(seen.unset(masks.mask)), fills))

    return replace_bits


def _sum_of_masks(self):
    return sum(piece.mask for piece in self.pieces)


def _settle_without_memory(self, page, fresh, known, otherwise):
    for piece in page.pieces:
        mask = piece.mask
        self.note(piece, Verdict.ACCEPTED, (mask & fresh).bit_count())
        self.note(piece, Verdict.DUPLICATE, (mask & known & ~fresh).bit_count())
        self.note(piece, otherwise, (mask & ~known & ~fresh).bit_count())


def _seal_without_climb(self, batch, caller):
    if batch.total == 0:
        return self.complete(batch, caller)
    for tail in tails(batch.total, batch.shape):
        key = PageKey(batch.key, tail.level, tail.number)
        self.store.mark_tail(key, tail.size, tail.root, batch.pages_expire_at)
    return self.end_by_failures(batch)


def _seal_climbs_from_root(self, batch, caller):
    if batch.total == 0:
        return self.complete(batch, caller)
    for tail in tails(batch.total, batch.shape):
        key = PageKey(batch.key, tail.level, tail.number)
        page = self.store.mark_tail(key, tail.size, tail.root, batch.pages_expire_at)
    return self.climb(batch, {key: page}, caller) or self.end_by_failures(batch)


def _seal_from_root(self, batch, caller):
    if batch.total == 0:
        return self.complete(batch, caller)
    ended, succeeded = None, 0
    for tail in reversed(list(tails(batch.total, batch.shape))):
        key = PageKey(batch.key, tail.level, tail.number)
        page = self.store.mark_tail(key, tail.size, tail.root, batch.pages_expire_at)
        succeeded += page.succeeded if key.level == 0 and batch.mode is Mode.EXACT else 0
        ended = self.climb(batch, {key: page}, caller) or ended
    return ended or self.end_by_failures(batch) or self.end_by_successes(batch, succeeded, caller)


def _seal_then_close(self, tenant, batch_id, caller):
    self._climber().seal(self.get(tenant, batch_id), caller)
    return _close(self, tenant, batch_id, caller)


MUTANTS = (
    Mutant("a duplicate climbs", (Climber, "mark", _climb_if_fresh)),
    Mutant("a request heals before it climbs", (Recorder, "_sent", _sent_and_climbed_each)),
    Mutant("a compacted page climbs", (Climber, "climb", _climb_if_not_compacted)),
    Mutant("an add is guarded", (Page, "admits", lambda self, mask: True)),
    Mutant(
        "an add is refused by a compacted page", (Page, "admits", lambda self, mask: not self.bits & mask)
    ),
    Mutant("climb, then compact", (Climber, "climb", _compact_first)),
    Mutant("only a full page is compacted", (Climber, "climb", _compact_each)),
    Mutant("a page is full at its size", (Page, "is_full", lambda self, capacity: self.n >= capacity)),
    Mutant("only a closed batch completes, once", (MemoryStore, "transition", _complete_always)),
    Mutant(
        "the stored caller is notified, not the one whose request succeeded",
        (MemoryStore, "transition", _complete_is_mine_if_applied),
    ),
    Mutant("the stored caller is notified, not each that asks", (Climber, "complete", _notify_each_caller)),
    Mutant("a caller has one name for all its attempts", (PagePlan, "caller", _new_name_each_time)),
    Mutant("a batch closes once", (MemoryStore, "transition", _close_always)),
    Mutant("a batch is created once a key", (MemoryStore, "create_under", _create_always)),
    Mutant("a reservation wants an open batch", (MemoryStore, "reserve", _reserve(False, True, True))),
    Mutant("a reservation wants the total it saw", (MemoryStore, "reserve", _reserve(True, False, True))),
    Mutant("a reservation wants no earlier receipt", (MemoryStore, "reserve", _reserve(True, True, False))),
    Mutant("a retried add has the key it had", (Tracker, "add", _add_under_new_key)),
    Mutant("a receipt is found after close", (MemoryStore, "receipt", lambda self, key, receipt_key: None)),
    Mutant("the tag of a group is checked", (GroupId, "is_of", lambda self, salt, batch_id: True)),
    Mutant("an index lies within its group", (acking, "judge", _judge_without_bound)),
    Mutant("two acks of an item in one request set one bit", (PagePlan, "mask", property(_sum_of_masks))),
    Mutant("two acks of an item in one request: one accepted", (AckPlan, "settle", _settle_without_memory)),
    Mutant("a replacement wants the count it saw", (MemoryStore, "replace_bits", _replace_bits(False, True))),
    Mutant("close climbs", (Climber, "seal", _seal_without_climb)),
    Mutant("close climbs from each level", (Climber, "seal", _seal_climbs_from_root)),
    Mutant("close fences before it looks at the total", (Tracker, "close", _seal_then_close)),
    *LIFECYCLE_MUTANTS,
    *CHILDREN_MUTANTS,
    *CASCADE_MUTANTS,
    *ENDING_MUTANTS,
    *ENOUGH_MUTANTS,
    *FOLDING_MUTANTS,
    *READING_MUTANTS,
)

EQUIVALENT = (
    (
        Mutant(
            "compaction wants the count it saw", (Page, "may_compact", lambda self, n: not self.compacted)
        ),
        "only who saw a page full asks for it, and the count of a full page never changes",
    ),
    (
        Mutant(
            "a replacement is refused by a compacted page",
            (MemoryStore, "replace_bits", _replace_bits(True, False)),
        ),
        "a compacted page has the count of a full one, so that one who saw this count had no bit left to set",
    ),
    (
        Mutant("an open batch does not complete", (MemoryStore, "transition", _complete_open_too)),
        "only who saw a page marked as root asks for it, or a total of 0 after the fence: both follow CLOSED",
    ),
    (
        Mutant("close goes from the leaves to the root", (Climber, "seal", _seal_from_root)),
        "each last page is given its size before it is looked at, so that no order hides a full one",
    ),
    *LIFECYCLE_EQUIVALENT,
    *ENDING_EQUIVALENT,
)


if __name__ == "__main__":
    sys.exit(drive(ROOM, MUTANTS, EQUIVALENT))
