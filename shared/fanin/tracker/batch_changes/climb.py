"""Set the bits of acked items, and climb from full pages up the tree to the completion of the batch.

No step clears a bit that says done, so each is idempotent: a repeated ack repairs a climb that a crash
interrupted.
A request climbs after it has written all its pages, so that it heals before it completes the batch.
The last ack and close both write the last page of a level; the store serializes these writes, so one of the
two sees the page full.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

from fanin.errors import StoreUnavailable
from fanin.pacing import pause
from fanin.tracker.rules.lifecycle import Transition, transition
from fanin.tracker.rules.model import Batch, Outcome, PageKey, State
from fanin.tracker.rules.options import Mode
from fanin.tracker.rules.page import DIGIT_BITS, Page, PageMasks, digits
from fanin.tracker.rules.thresholds import is_enough, may_be_enough
from fanin.tracker.rules.tree import above, tails
from fanin.tracker.store import Replacement, TrackerStore, Written

# A DynamoDB expression has at most 4 KB, which holds the guards of about 20 digits. For more digits the page
# is read first.
GUARDED_DIGITS = 20
# A guard that requires set bits lists fewer values the more bits it requires, so most of a page fits into one
# condition: at most 150 guards, because a condition has at most 300 operators.
BYTES_OF_GUARDS, BYTES_A_GUARD, BYTES_A_NAME = 4000, 22, 5
WRITE_ATTEMPTS = 16
PREPARED_MAX = 10_000


@dataclass(frozen=True, slots=True)
class BitsSet:
    """The result of a write to a leaf: the bits it changed, and the page after it.

    *healed*: the changed bits that had failed before. In an estimated batch *fresh* is 1 where acks counted.
    """

    fresh: int
    page: Page
    healed: int = 0

    @property
    def succeeded(self) -> int:
        """How many items of the page have succeeded, at least."""
        return self.page.succeeded + self.healed.bit_count()


@dataclass(frozen=True, slots=True)
class Climber:
    """Writes pages for one request, with one store and one clock.

    *in_turn*: a lock held during a healing transaction. Such transactions write the same batch row, so they
    would conflict if they ran side by side. *prepared*: pages that this process has prepared, each with
    whether it was marked.
    """

    store: TrackerStore
    now: Callable[[], datetime]
    pause: Callable[[int], None] = pause
    prepared: set[tuple[PageKey, bool]] = field(default_factory=set, repr=False)
    in_turn: Lock = field(default_factory=Lock, repr=False)

    def mark(self, batch: Batch, number: int, masks: PageMasks, seen: Page | None = None) -> BitsSet:
        """Ack items of a leaf in one write; those that succeeded and had failed before are healed.

        A failure changes nothing where the item was acked before. *seen*: the page, where it has been read.
        """
        key = PageKey(batch.key, 0, number)
        if seen is None or seen.unset(masks.mask):
            self._prepare(batch, number, bool(masks.failed))
        fresh, page = self._write(batch, key, masks, seen)
        failed = masks.success & page.failed & ~fresh
        healed = sum(self._heal(batch, key, part) for part in _parts(failed)) if failed else 0
        return BitsSet(fresh | healed, page, healed)

    def create(self, batch: Batch, masks: Mapping[int, int]) -> dict[int, BitsSet]:
        """Store leaves that were not stored, with the items that succeeded, in one request.

        Return the results of those that this call stored; the others are stored by now.
        """
        of, shape = batch.key, batch.shape
        pages = {PageKey(of, 0, number): Page.new(mask, shape.leaf) for number, mask in masks.items()}
        for number in {number // shape.fanout: number for number in masks}.values():
            self._prepare(batch, number, failing=False)
        created = self.store.create_pages(pages, batch.pages_expire_at)
        return {key.number: BitsSet(masks[key.number], pages[key]) for key in created}

    def replace(self, batch: Batch, leaves: Sequence[Replacement]) -> dict[int, BitsSet]:
        """Write *leaves* with the count of their failures in one request; return their results.

        None if the request was refused: then none of them is written.
        """
        for leaf in leaves:
            self._prepare(batch, leaf.key.number, failing=True)
        if not self.store.replace_pages(leaves, batch.pages_expire_at):
            return {}
        return {leaf.key.number: BitsSet(leaf.masks.mask, leaf.page) for leaf in leaves}

    def count(self, batch: Batch, number: int, count: int, outcome: Outcome) -> BitsSet:
        """Count acks in a leaf of an estimated batch."""
        key = PageKey(batch.key, 0, number)
        self._prepare(batch, number, failing=False)
        written = self.store.add_count(key, count, outcome, batch.pages_expire_at)
        return BitsSet(int(written.applied), written.page)

    def _prepare(self, batch: Batch, leaf: int, failing: bool) -> None:
        """Store the pages above a leaf before the leaf: nothing is acked below one that is not stored.

        For a failure they are marked. The first page of each level needs neither: readers look below it.
        """
        for level, number in above(leaf, batch.shape):
            key = PageKey(batch.key, level, number)
            if (key, failing) not in self.prepared:
                self.store.prepare(key, failing, batch.pages_expire_at)
                if len(self.prepared) >= PREPARED_MAX:
                    self.prepared.clear()
                self.prepared.update({(key, failing), (key, False)})

    def climb(self, batch: Batch, pages: Mapping[PageKey, Page], caller: str) -> Batch | None:
        """Set the bits of the full ones of *pages*, of one parent, in it; return the batch if it has ended.

        A page that is compacted climbs as any other: its write may have compacted it. Others are, then.
        """
        full = {key: page for key, page in pages.items() if page.is_full(batch.shape.capacity(key.level))}
        if not full:
            return None
        is_root = any(page.root for page in full.values())
        ended = self.complete(batch, caller) if is_root else self._mark_parent(batch, full, caller)
        for key, page in full.items():
            if not page.compacted:
                self.store.compact(key, page.n)
        return ended

    def complete(self, batch: Batch, caller: str) -> Batch | None:
        """Complete the batch if it is CLOSED; return the stored batch if it has ended."""
        return _ended(
            self.store.transition(batch.key, transition(batch, State.COMPLETE, self.now(), caller=caller))
        )

    def seal(self, batch: Batch, caller: str) -> Batch | None:
        """Mark the last page of each level of a CLOSED batch; return the batch if it has ended.

        A percentage can end it now that its total is final: of failures, or of what its last leaf shows.
        """
        if batch.total == 0:
            return self.complete(batch, caller)
        ended, succeeded = None, 0
        for tail in tails(batch.total, batch.shape):
            key = PageKey(batch.key, tail.level, tail.number)
            page = self.store.mark_tail(key, tail.size, tail.root, batch.pages_expire_at)
            succeeded += page.succeeded if key.level == 0 and batch.mode is Mode.EXACT else 0
            ended = self.climb(batch, {key: page}, caller)
        return ended or self.end_by_failures(batch) or self.end_by_successes(batch, succeeded, caller)

    def _mark_parent(self, batch: Batch, full: Mapping[PageKey, Page], caller: str) -> Batch | None:
        """Set the bits of full pages in their parent page, marked as failed where a page holds failures.

        What is compacted has climbed, unless a crash came between: the parent is read before it is written.
        """
        bits = {False: 0, True: 0}
        for key, page in full.items():
            parent, bit = divmod(key.number, batch.shape.fanout)
            bits[bool(page.failed)] |= 1 << bit
        key = PageKey(batch.key, key.level + 1, parent)
        seen = self._page(key) if all(page.compacted for page in full.values()) else None
        _, page = self._write(batch, key, PageMasks(bits[False], bits[True]), seen)
        return self.climb(batch, {key: page}, caller)

    def end_by_failures(self, batch: Batch) -> Batch | None:
        """End a batch with too many failures as FAILED; return the stored batch if it has ended.

        The batch is read first, and ends only if no item was healed since. Without that condition a delayed
        copy of a refused transition could apply later, after other failures, with a time before them.
        """
        if not batch.may_fail:
            return None
        stored = self.store.get(batch.key)
        for attempt in range(WRITE_ATTEMPTS):
            limit = stored.failure_limit if stored is not None and stored.is_alive else None
            if stored is None or limit is None or stored.failed < limit:
                return _ended(stored)
            stored = self.store.transition(batch.key, self._enough(stored, limit))
            if stored is not None and stored.is_alive:
                self.pause(attempt)
        raise StoreUnavailable("too many concurrent requests heal failures of the batch; repeat the request")

    def _enough(self, batch: Batch, limit: int) -> Transition:
        """Return the transition that ends a batch for its failures, as the batch was read."""
        final = batch.state is State.CLOSED
        return transition(batch, State.FAILED, self.now(), failures=limit, healed=batch.healed, final=final)

    def end_by_successes(self, batch: Batch, succeeded: int, caller: str) -> Batch | None:
        """End a batch as COMPLETE if *succeeded* items, at least, are enough; return it if it has ended.

        The batch is read after they were counted: if it is still OPEN, and a percentage decides, the closer
        counts them again.
        """
        if not may_be_enough(batch, succeeded):
            return None
        stored = self.store.get(batch.key)
        if stored is None or not stored.is_alive or not is_enough(stored, succeeded):
            return _ended(stored)
        final = stored.state is State.CLOSED
        change = transition(stored, State.COMPLETE, self.now(), caller, reached=succeeded, final=final)
        return _ended(self.store.transition(batch.key, change))

    def end_by_sample(self, batch: Batch) -> Batch | None:
        """End a batch whose failures, as they were read, are too many of its acked items, counted since.

        It ends only if no item was healed since: then it had as many failures when they were counted.
        """
        final = batch.state is State.CLOSED
        change = transition(
            batch, State.FAILED, self.now(), failures=batch.failed, healed=batch.healed, final=final
        )
        return _ended(self.store.transition(batch.key, change))

    def _heal(self, batch: Batch, key: PageKey, mask: int) -> int:
        """Heal the failed bits of *mask*; return those that this call healed."""
        for attempt in range(WRITE_ATTEMPTS):
            with self.in_turn:
                healed = self.store.heal_bits(key, mask)
            if healed:
                return mask
            failed = mask & self._page(key).failed
            if failed == mask:
                if self._is_over(batch):
                    return 0
                self.pause(attempt)
            mask = failed
            if not mask:
                return 0
        raise StoreUnavailable("too many concurrent writes to a page; repeat the request")

    def _page(self, key: PageKey) -> Page:
        return self.store.pages([key]).get(key, Page())

    def _is_over(self, batch: Batch) -> bool:
        stored = self.store.get(batch.key)
        return stored is None or not stored.is_alive

    def _write(
        self, batch: Batch, key: PageKey, masks: PageMasks, seen: Page | None = None
    ) -> tuple[int, Page]:
        """Set the bits of *masks*; return those that this call set, and the page after it."""
        for attempt in range(WRITE_ATTEMPTS):
            remaining = masks if seen is None else masks.within(seen.unset(masks.mask))
            if attempt and remaining == masks:
                if remaining.failed and self._is_over(batch):
                    return 0, self._page(key)  # it was read before the batch, and others may have acked since
                self.pause(attempt - 1)
            masks = remaining
            if not masks.mask:
                return 0, seen or Page()
            written = self._send(batch, key, masks, seen)
            if written.applied:
                return masks.mask, written.page
            seen = written.page
        raise StoreUnavailable("too many concurrent writes to a page; repeat the request")

    def _send(self, batch: Batch, key: PageKey, masks: PageMasks, seen: Page | None) -> Written:
        """Send one write: a guarded add; for many digits or two outcomes, a replacement of the page seen.

        So also where that fills the page, which then needs no other write.
        """
        fills = seen is not None and _fills(batch, key, seen, masks)
        if not (fills or masks.is_mixed) and sum(1 for _ in digits(masks.mask)) <= GUARDED_DIGITS:
            return self.store.add_bits(key, masks, batch.pages_expire_at)
        if seen is None:
            seen = self._page(key)
        if seen.unset(masks.mask) != masks.mask:
            return Written(seen, applied=False)
        fills, until = _fills(batch, key, seen, masks), batch.pages_expire_at
        return self.store.replace_bits(key, seen, masks, until, fills, is_inner(batch, key))


def _fills(batch: Batch, key: PageKey, seen: Page, masks: PageMasks) -> bool:
    """Whether a page is full after *masks*, none of which is set in it, are."""
    return seen.with_bits(masks).is_full(batch.shape.capacity(key.level))


def replacement(batch: Batch, number: int, masks: PageMasks, seen: Page) -> Replacement | None:
    """Return the write of a leaf that adds failures to it as it was *seen*.

    None if it adds none, heals any, or may be the last leaf: these need a read, or a write of their own.
    """
    key, new = PageKey(batch.key, 0, number), masks.within(seen.unset(masks.mask))
    if not new.failed or masks.success & seen.failed or not is_inner(batch, key):
        return None
    return Replacement(key, seen, new, _fills(batch, key, seen, new))


def is_inner(batch: Batch, key: PageKey) -> bool:
    """Whether other pages of its level follow a page: a total only grows, so it is never the last one."""
    return (key.number + 1) * batch.shape.width(key.level) < batch.total


def _ended(stored: Batch | None) -> Batch | None:
    return stored if stored and not stored.is_alive else None


def _parts(mask: int) -> list[int]:
    """Cut *mask* into parts whose digits fit into the guards of one condition."""
    parts: list[int] = []
    room = 0
    for digit, value in digits(mask):
        names = 2 ** (DIGIT_BITS - value.bit_count())
        cost = BYTES_A_GUARD + BYTES_A_NAME * names
        if cost > room:
            parts.append(0)
            room = BYTES_OF_GUARDS
        parts[-1] |= value << digit * DIGIT_BITS
        room -= cost
    return parts
