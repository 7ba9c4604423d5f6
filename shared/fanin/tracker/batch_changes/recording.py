"""Write the pages of an ack request, and find the batches that end and the completions of its callers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import groupby
from operator import attrgetter

from fanin.errors import NewerSchema
from fanin.item_ids import ItemId
from fanin.pacing import Each, each_in_turn
from fanin.tracker.batch_changes.climb import BitsSet, Climber, replacement
from fanin.tracker.reads.failure_reasons import free, slots_of
from fanin.tracker.rules.acking import TOO_LATE, AckPlan, PageAcked, PagePlan, is_expired, verdicts
from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.model import Ack, Batch, BatchKey, Outcome, PageKey, Sample, State, Verdict
from fanin.tracker.rules.options import Mode
from fanin.tracker.rules.page import Page, PageMasks, lowest
from fanin.tracker.rules.thresholds import ends_by_successes
from fanin.tracker.store import PAGES_A_COUNT, PAGES_A_WRITE
from fanin.user_functions import log_failure

logger = logging.getLogger("fanin")
OFFERS_A_REQUEST = 64
"""Reasons that one request offers to the sample: an offer is one write, or several if slots are taken."""


@dataclass(frozen=True, slots=True)
class LeafWrite:
    """A write to a leaf page on behalf of *caller*. *fails*: whether items fail by it; *send* sends it."""

    batch: Batch
    number: int
    caller: str
    fails: bool
    send: Callable[[], BitsSet]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes an ack request in two steps: all its pages, healing what had failed, and then their climbs.

    So a request that acks the last items of a batch and heals a failed one does not lose the heal.
    *each*: runs the writes of pages of successes, which are independent. *offered*: items of this request
    whose reasons were offered to the sample. *healed*: items of it that were healed. *ended*: the batches
    that it found ended.
    """

    climber: Climber
    each: Each = each_in_turn
    offered: list[str] = field(default_factory=list)
    healed: list[tuple[Batch, str]] = field(default_factory=list)
    ended: dict[BatchKey, Batch] = field(default_factory=dict)

    def record(self, request: AckPlan) -> None:
        """Write the pages of *request*, and note the verdicts in it; a batch that has ended is only read."""
        live = [page for page in request.in_order() if page.batch.is_alive]
        over = [page for page in request.pages.values() if not page.batch.is_alive]
        writes = [self._write_of(page) for page in live]
        written = self._sent(writes)
        self._conclude(writes, written)
        self.ended.update({page.batch.key: page.batch for page in over})
        stored = self.climber.store.pages([page.key for page in over]) if over else {}
        unwritten = [BitsSet(0, stored.get(page.key, Page())) for page in over]
        for page, bits in zip([*live, *over], [*written, *unwritten], strict=True):
            self._settle(request, page, bits)
        self._free_reasons()

    def record_folded(
        self, batch: Batch, pages: Mapping[int, PageMasks], caller: str, at: datetime
    ) -> list[PageAcked]:
        """Write folded acks of an exact batch; all pages are read in one call.

        *at*: a time before the batch was read.
        """
        numbers = sorted(pages)
        if is_expired(batch, at):
            return [PageAcked(each, {Verdict.EXPIRED: pages[each].mask.bit_count()}) for each in numbers]
        self._note_end(batch)
        seen = self._read(batch, numbers)
        written = self._write_folded(batch, pages, caller, seen) if batch.is_alive else {}
        unwritten = {
            number: BitsSet(0, seen.get(number, Page())) for number in numbers if number not in written
        }
        bits_of = written | unwritten
        return [self._acked(batch, number, pages[number], bits_of[number]) for number in numbers]

    def _write_folded(
        self, batch: Batch, pages: Mapping[int, PageMasks], caller: str, seen: Mapping[int, Page]
    ) -> dict[int, BitsSet]:
        """Write folded acks of a live batch over the pages as they were *seen*; return the result of each.

        A page that lacks none of the bits has a result, too: if it is full, it climbs, as ``_climb`` says.
        """
        new = {
            number: masks.success
            for number, masks in pages.items()
            if masks.success and not masks.failed and number not in seen
        }
        written = self._created(batch, new)
        seen = {**seen, **self._read(batch, [number for number in new if number not in written])}
        empty = Page()
        writes = [
            self._folded_write(batch, number, masks, caller, seen.get(number, empty))
            for number, masks in sorted(pages.items())
        ]
        written |= self._results([each for each in writes if not each.fails and each.number not in written])
        failing = {write.number: pages[write.number] for write in writes if write.fails}
        written |= self._counted(batch, failing, seen)
        written |= self._results([each for each in writes if each.number not in written])
        self._conclude(writes, [written[write.number] for write in writes])
        return written

    def _read(self, batch: Batch, numbers: Sequence[int]) -> dict[int, Page]:
        """Return those of the leaves that are stored."""
        if not numbers:
            return {}
        of = batch.key
        stored = self.climber.store.pages([PageKey(of, 0, each) for each in numbers])
        return {key.number: page for key, page in stored.items()}

    def _created(self, batch: Batch, masks: Mapping[int, int]) -> dict[int, BitsSet]:
        """Store leaves that were not stored, many in a request; return the results of those stored."""
        numbers = list(masks)
        some = [numbers[at : at + PAGES_A_WRITE] for at in range(0, len(numbers), PAGES_A_WRITE)]
        create = self.climber.create
        found = self.each(lambda part: create(batch, {number: masks[number] for number in part}), some)
        return {number: bits for part in found for number, bits in part.items()}

    def _counted(
        self, batch: Batch, pages: Mapping[int, PageMasks], seen: Mapping[int, Page]
    ) -> dict[int, BitsSet]:
        """Write leaves with failures, many with one count; return the results of those written.

        The others are written one by one, each with its count.
        """
        found = (replacement(batch, at, masks, seen.get(at, Page())) for at, masks in pages.items())
        leaves = [leaf for leaf in found if leaf is not None]
        written: dict[int, BitsSet] = {}
        for at in range(0, len(leaves), PAGES_A_COUNT):
            written |= self.climber.replace(batch, leaves[at : at + PAGES_A_COUNT])
        return written

    def _results(self, writes: Sequence[LeafWrite]) -> dict[int, BitsSet]:
        """Send *writes*; return the result of each by its number."""
        return dict(zip((write.number for write in writes), self._sent(writes), strict=True))

    def _sent(self, writes: Sequence[LeafWrite]) -> list[BitsSet]:
        """Send *writes*, those of successes first.

        These are sent side by side. Those with failures are sent one after the other, because each is a
        transaction on the batch's row.
        """
        written: list[BitsSet] = []
        for fails, some in groupby(writes, key=attrgetter("fails")):
            each = each_in_turn if fails else self.each
            written += each(lambda write: write.send(), list(some))
        return written

    def _conclude(self, writes: Sequence[LeafWrite], written: Sequence[BitsSet]) -> None:
        """Climb from the pages that were written, and find what has ended.

        Whether failures end a batch is asked after the last write, and then whether what succeeded on these
        pages does.
        """
        for batch in self.each(self._climb, _siblings(writes, written)):
            self._note_end(batch)
        for batch in {write.batch.key: write.batch for write in writes if write.fails}.values():
            if batch.key not in self.ended:
                self._note_end(self.climber.end_by_failures(batch))
        self._end_by_successes(writes, written)

    def _end_by_successes(self, writes: Sequence[LeafWrite], written: Sequence[BitsSet]) -> None:
        """End the exact batches of which enough items have succeeded on the pages that were written."""
        counted: dict[BatchKey, tuple[LeafWrite, dict[int, int]]] = {}
        for write, bits in zip(writes, written, strict=True):
            may_end = write.batch.mode is Mode.EXACT and ends_by_successes(write.batch)
            if may_end and write.batch.key not in self.ended:
                _, pages = counted.get(write.batch.key, (write, {}))
                pages[write.number] = max(bits.succeeded, pages.get(write.number, 0))
                counted[write.batch.key] = write, pages
        for write, pages in counted.values():
            total = sum(pages.values())
            self._note_end(self.climber.end_by_successes(write.batch, total, write.caller))

    def _climb(self, siblings: Sequence[tuple[LeafWrite, Page]]) -> Batch | None:
        """Climb from the full ones of *siblings*, also where an earlier write filled and compacted them.

        A crash may have come between that write and its climb.
        """
        write, _ = siblings[0]
        key = write.batch.key
        pages = {PageKey(key, 0, write.number): page for write, page in siblings}
        return self.climber.climb(write.batch, pages, write.caller)

    def _note_end(self, batch: Batch | None) -> None:
        """Note the batch if it has ended."""
        if batch is not None and not batch.is_alive:
            self.ended[batch.key] = batch

    def _refusal(self, batch: Batch, usual: Verdict = Verdict.LATE) -> Verdict:
        """Return the verdict of items that were not set; the batch is read if its end is not known."""
        stored = self.ended.get(batch.key) or self.climber.store.get(batch.key)
        self._note_end(stored)
        return TOO_LATE.get(_state(stored), usual)

    def _acked(self, batch: Batch, number: int, masks: PageMasks, bits: BitsSet) -> PageAcked:
        """Return the result of a page of folded acks."""
        mask = masks.mask
        late = self._refusal(batch) if bits.page.unset(mask) else Verdict.LATE
        counts = verdicts(mask, bits.fresh, _set(bits.page, mask), late)
        fresh = bits.fresh & ~bits.healed
        failed = (fresh & masks.failed).bit_count()
        return PageAcked(number, counts, fresh.bit_count(), failed, bits.healed.bit_count())

    def _write_of(self, page: PagePlan) -> LeafWrite:
        """Return the write of a page of the request."""
        climber, batch, number = self.climber, page.batch, page.number
        if batch.mode is Mode.ESTIMATED:
            send = partial(climber.count, batch, number, page.size, page.outcome)
        else:
            send = partial(climber.mark, batch, number, page.masks)
        return LeafWrite(batch, number, page.caller, page.outcome is Outcome.FAILURE, send)

    def _folded_write(
        self, batch: Batch, number: int, masks: PageMasks, caller: str, seen: Page
    ) -> LeafWrite:
        send = partial(self.climber.mark, batch, number, masks, seen)
        return LeafWrite(batch, number, caller, bool(masks.failed), send)

    def _settle(self, request: AckPlan, page: PagePlan, bits: BitsSet) -> None:
        """Note the verdicts of a page, and the reasons of its failures; an estimated batch has none."""
        if page.batch.mode is Mode.ESTIMATED:
            counted = Verdict.ACCEPTED if bits.fresh else self._refusal(page.batch, Verdict.DUPLICATE)
            for piece in page.pieces:
                request.note(piece, counted, piece.size)
            return
        late = self._refusal(page.batch) if bits.page.unset(page.mask) else Verdict.LATE
        request.settle(page, bits.fresh, _set(bits.page, page.mask), late)
        self._keep_reasons(page, bits.fresh)
        self._note_healed(page, bits.healed)

    def keep_reasons(self, request: AckPlan) -> None:
        """Keep the reasons in *request* of items that are stored as failed; ack nothing."""
        for page in request.pages.values():
            self._keep_reasons(page, self.climber.store.pages([page.key]).get(page.key, Page()).failed)

    def _keep_reasons(self, page: PagePlan, failed: int) -> None:
        """Keep the reasons of the first failures, up to the limit of a request."""
        for piece in page.pieces:
            fresh = piece.mask & failed
            offers = piece.ack.reason is not None and len(self.offered) < OFFERS_A_REQUEST
            if offers and page.outcome is Outcome.FAILURE and fresh:
                self._keep(page.batch, piece.ack, page.number * page.batch.shape.leaf + lowest(fresh))

    def _keep(self, batch: Batch, ack: Ack, position: int) -> None:
        """Keep the reason of the item at *position* in the batch."""
        item = _item_at(ack, position)
        sample = Sample(item, ack.reason or "", self.climber.now())
        self.offered.append(item)
        for slot in slots_of(item):
            kept = self.climber.store.sample(batch.key, slot, sample, batch.pages_expire_at)
            if kept is None or kept.item_id == item:
                return

    def _note_healed(self, page: PagePlan, healed: int) -> None:
        """Note the first healed items, up to the limit of a request."""
        for piece in page.pieces:
            found, healed = piece.mask & healed, healed & ~piece.mask
            while found and len(self.healed) < OFFERS_A_REQUEST:
                item = _item_at(piece.ack, page.number * page.batch.shape.leaf + lowest(found))
                self.healed.append((page.batch, item))
                found &= found - 1

    def _free_reasons(self) -> None:
        """Remove the reasons of healed items; those that a crash leaves are filtered when they are read."""
        self.each(lambda one: free(self.climber.store, *one), self.healed)


def _item_at(ack: Ack, position: int) -> str:
    """Return the id of the item of an ack that is at *position* in the batch."""
    group = GroupId.decode(ack.group_id)
    return str(ItemId(ack.batch_id, ack.group_id, position - (group.start if group else 0)))


def unless_newer(ack_of: Callable[[Batch], Ack | None]) -> Callable[[Batch], Ack | None]:
    """Return *ack_of*, the ack of the parent's item of an ended batch, with NewerSchema logged: None then.

    The ack that ended the batch is stored, and the confirmation of the batch's event acks the parent again.
    """

    def readable(batch: Batch) -> Ack | None:
        try:
            return ack_of(batch)
        except NewerSchema as error:
            log_failure(logger, "the parent of batch %s is not acked yet", batch.batch_id, error=error)
            return None

    return readable


def _siblings(writes: Sequence[LeafWrite], written: Sequence[BitsSet]) -> list[list[tuple[LeafWrite, Page]]]:
    """Return the full pages with their writes, those of one parent and caller together."""
    found: dict[tuple[BatchKey, int, str], list[tuple[LeafWrite, Page]]] = {}
    for write, bits in zip(writes, written, strict=True):
        shape = write.batch.shape
        if bits.page.is_full(shape.leaf):
            parent = write.number // shape.fanout
            found.setdefault((write.batch.key, parent, write.caller), []).append((write, bits.page))
    return list(found.values())


def _set(page: Page, mask: int) -> int:
    """Return the bits of *mask* that are set in *page*, compacted or not."""
    return mask & ~page.unset(mask)


def _state(batch: Batch | None) -> State:
    return batch.state if batch else State.EXPIRED
