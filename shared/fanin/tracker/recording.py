"""Write the pages of an ack request, and find the batches that end and the completions of its callers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from operator import attrgetter

from fanin.calling import log_failure
from fanin.errors import NewerSchema
from fanin.pacing import Each, each_in_turn
from fanin.tracker.acking import TOO_LATE, AckPlan, PageAcked, PagePlan, is_expired, verdicts
from fanin.tracker.climb import BitsSet, Climber
from fanin.tracker.ids import GroupId, ItemId
from fanin.tracker.model import Ack, Batch, BatchKey, Completion, Outcome, PageKey, Sample, State, Verdict
from fanin.tracker.options import Mode
from fanin.tracker.page import Page, PageMasks, lowest
from fanin.tracker.sampling import free, slots_of

logger = logging.getLogger("fanin")
OFFERS_A_REQUEST = 64
"""Reasons that one request offers to the sample: an offer is one write, or several if slots are taken."""


@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes an ack request, and calls *ended* with every batch that it finds ended.

    *each*: runs the writes of pages of successes, which are independent. *offered*: items of this request
    whose reasons were offered to the sample. *healed*: items of it that were healed.
    """

    climber: Climber
    ended: Callable[[Batch], None]
    each: Each = each_in_turn
    offered: list[str] = field(default_factory=list)
    healed: list[tuple[Batch, str]] = field(default_factory=list)

    def record(self, request: AckPlan) -> list[Completion]:
        """Write the pages of *request* and note the verdicts in it; return its callers' completions.

        Pages of successes are written side by side. Failures of a batch are written one after the other,
        because each is a transaction on the batch's row.
        """
        over: dict[BatchKey, Batch] = {}
        for outcome, pages in groupby(request.in_order(), key=attrgetter("outcome")):
            each = self.each if outcome is Outcome.SUCCESS else each_in_turn
            for batch in each(partial(self._record_page, request), list(pages)):
                if batch is not None:
                    self.ended(batch)
                    over[batch.key] = batch
        self._free_reasons()
        complete = [(batch, batch.completed_by) for batch in over.values() if batch.state is State.COMPLETE]
        return [Completion(batch, by) for batch, by in complete if by in request.callers(batch.key)]

    def record_folded(
        self, batch: Batch, pages: Mapping[int, PageMasks], caller: str, at: datetime
    ) -> list[PageAcked]:
        """Write folded acks of an exact batch, pages of successes first; all pages are read in one call.

        *at*: a time before the batch was read.
        """
        if is_expired(batch, at):
            gone = {number: {Verdict.EXPIRED: masks.mask.bit_count()} for number, masks in pages.items()}
            return [PageAcked(number, counts) for number, counts in sorted(gone.items())]
        if not batch.is_alive:
            self.ended(batch)
        stored = self.climber.store.pages([PageKey(batch.key, 0, number) for number in pages])
        done: list[PageAcked] = []
        for each, numbers in self._in_order(pages):
            record = partial(self._record_folded, batch, pages, stored, caller)
            for acked, ended in each(record, numbers):
                done.append(acked)
                if ended is not None and batch.is_alive:
                    self.ended(ended)
                    batch = ended
        return sorted(done, key=attrgetter("number"))

    def _in_order(self, pages: Mapping[int, PageMasks]) -> Iterator[tuple[Each, list[int]]]:
        """Yield the pages of successes together, then each page with failures alone: it may end the batch."""
        numbers = sorted(pages)
        yield self.each, [number for number in numbers if not pages[number].failed]
        for number in numbers:
            if pages[number].failed:
                yield each_in_turn, [number]

    def _record_folded(
        self,
        batch: Batch,
        pages: Mapping[int, PageMasks],
        stored: Mapping[PageKey, Page],
        caller: str,
        number: int,
    ) -> tuple[PageAcked, Batch | None]:
        """Write one page; return its result, and the batch if it has ended."""
        masks, seen = pages[number], stored.get(PageKey(batch.key, 0, number), Page())
        mask = masks.mask
        if not batch.is_alive or not masks.need_write(seen):
            late = TOO_LATE.get(batch.state, Verdict.LATE)
            return PageAcked(number, verdicts(mask, 0, _set(seen, mask), late)), None
        done = self.climber.mark(batch, number, masks, caller, seen)
        ended, late = self._found(batch, done, not done.page.unset(mask))
        counts = verdicts(mask, done.fresh, _set(done.page, mask), late)
        fresh = done.fresh & ~done.healed
        failed = (fresh & masks.failed).bit_count()
        return PageAcked(number, counts, fresh.bit_count(), failed, done.healed.bit_count()), ended

    def _found(
        self, batch: Batch, done: BitsSet, all_taken: bool, usual: Verdict = Verdict.LATE
    ) -> tuple[Batch | None, Verdict]:
        """Return the batch if it has ended, and the verdict that follows for items that were not set."""
        ended = done.ended
        if not all_taken and ended is None:
            ended = self.climber.store.get(batch.key)
        return ended if ended and not ended.is_alive else None, TOO_LATE.get(_state(ended), usual)

    def _record_page(self, request: AckPlan, page: PagePlan) -> Batch | None:
        """Write one page of the request; return the batch if it has ended."""
        if not page.batch.is_alive:
            self._too_late(request, page)
            return page.batch
        if page.batch.mode is Mode.ESTIMATED:
            return self._count(request, page)
        done = self.climber.mark(_judged(page), page.number, page.masks, page.caller)
        ended, late = self._found(page.batch, done, not done.page.unset(page.mask))
        request.settle(page, done.fresh, _set(done.page, page.mask), late)
        self._keep_reasons(page, done.fresh)
        self._note_healed(page, done.healed)
        return ended

    def _count(self, request: AckPlan, page: PagePlan) -> Batch | None:
        done = self.climber.count(_judged(page), page.number, page.size, page.outcome, page.caller)
        ended, refused = self._found(page.batch, done, bool(done.fresh), Verdict.DUPLICATE)
        for piece in page.pieces:
            request.note(piece, Verdict.ACCEPTED if done.fresh else refused, piece.size)
        return ended

    def _too_late(self, request: AckPlan, page: PagePlan) -> None:
        """Note verdicts for a batch that has ended: nothing is written; items acked before are duplicates."""
        verdict = TOO_LATE[page.batch.state]
        if page.batch.mode is Mode.ESTIMATED:
            for piece in page.pieces:
                request.note(piece, verdict, piece.size)
            return
        key = PageKey(page.batch.key, 0, page.number)
        stored = self.climber.store.pages([key]).get(key, Page())
        request.settle(page, 0, _set(stored, page.mask), verdict)

    def keep_reasons(self, request: AckPlan) -> None:
        """Keep the reasons in *request* of items that are stored as failed; ack nothing."""
        for page in request.pages.values():
            key = PageKey(page.batch.key, 0, page.number)
            self._keep_reasons(page, self.climber.store.pages([key]).get(key, Page()).failed)

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
            left, healed = piece.mask & healed, healed & ~piece.mask
            while left and len(self.healed) < OFFERS_A_REQUEST:
                item = _item_at(piece.ack, page.number * page.batch.shape.leaf + lowest(left))
                self.healed.append((page.batch, item))
                left &= left - 1

    def _free_reasons(self) -> None:
        """Remove the reasons of healed items; those that a crash leaves are filtered when they are read."""
        self.each(lambda one: free(self.climber.store, *one), self.healed)


def _item_at(ack: Ack, position: int) -> str:
    """Return the id of the item of an ack that is at *position* in the batch."""
    group = GroupId.decode(ack.group_id)
    return str(ItemId(ack.batch_id, ack.group_id, position - (group.start if group else 0)))


def unless_newer(report: Callable[[Batch], None]) -> Callable[[Batch], None]:
    """Return *report*, which acks the parent of an ended batch, with NewerSchema logged and not raised.

    The ack that ended the batch is stored, and the confirmation of the batch's event acks the parent again.
    """

    def reported(batch: Batch) -> None:
        try:
            report(batch)
        except NewerSchema as error:
            log_failure(logger, "the parent of batch %s is not acked yet", batch.batch_id, error=error)

    return reported


def _set(page: Page, mask: int) -> int:
    """Return the bits of *mask* that are set in *page*, compacted or not."""
    return mask & ~page.unset(mask)


def _judged(page: PagePlan) -> Batch:
    """Return the batch of a page, with its limits of failures only on the last page: checked once."""
    return page.batch if page.last else replace(page.batch, max_failures=None, max_failure_percent=None)


def _state(batch: Batch | None) -> State:
    return batch.state if batch else State.EXPIRED
