"""Sort an ack request by page, and derive the verdict of each ack from what the pages hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fanin.errors import TooManyBatches, TooManyPages
from fanin.item_ids import ItemId
from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.model import (
    Ack,
    Batch,
    BatchKey,
    Completion,
    ItemResult,
    Outcome,
    PageKey,
    Result,
    State,
    Verdict,
)
from fanin.tracker.rules.options import Mode
from fanin.tracker.rules.page import Page, PageMasks, mask_of
from fanin.tracker.rules.tree import capacity, stretches

TOO_LATE = {
    State.COMPLETE: Verdict.LATE,
    State.FAILED: Verdict.LATE,
    State.TIMED_OUT: Verdict.LATE,
    State.CANCELLED: Verdict.CANCELLED,
    State.EXPIRED: Verdict.EXPIRED,
}
PAGES_MAX = {Outcome.SUCCESS: 1_000, Outcome.FAILURE: 250}
"""Pages that one request may write while its caller waits. Failures are transactions on the batch's row."""

BATCHES_MAX = 100
"""Batches that one request may name: each is read, and each may end together with its parents."""


@dataclass(frozen=True, slots=True)
class PageAcked:
    """The result of the folded acks of a page: items by verdict.

    *written*: the accepted that were not acked before, the *failed* among them too. *healed*: the other
    accepted, which had failed before.
    """

    number: int
    counts: Mapping[Verdict, int]
    written: int = 0
    failed: int = 0
    healed: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of an ack that lies in one page: its bits *first* to *last*, and their verdicts."""

    position: int
    first: int
    last: int
    ack: Ack
    counts: Counter[Verdict] = field(default_factory=Counter)

    @property
    def mask(self) -> int:
        return mask_of(self.first, self.last)

    @property
    def size(self) -> int:
        return self.last - self.first + 1


@dataclass(slots=True)
class PagePlan:
    """The bits that one request sets with one outcome in one leaf page."""

    batch: Batch
    number: int
    outcome: Outcome
    pieces: list[Piece] = field(default_factory=list)

    @property
    def key(self) -> PageKey:
        return PageKey(self.batch.key, 0, self.number)

    @property
    def mask(self) -> int:
        union = 0
        for piece in self.pieces:
            union |= piece.mask
        return union

    @property
    def masks(self) -> PageMasks:
        """The bits to set."""
        return PageMasks.of(self.mask, self.outcome)

    @property
    def size(self) -> int:
        """The number of acks in the page, duplicates included."""
        return sum(piece.size for piece in self.pieces)

    @property
    def caller(self) -> str:
        """The caller on whose behalf the page is written: that of the highest item."""
        return max(self.pieces, key=lambda piece: piece.last).ack.caller

    @property
    def callers(self) -> set[str]:
        return {piece.ack.caller for piece in self.pieces}


@dataclass(slots=True)
class AckPlan:
    """A request in progress: its acks, the verdicts on refused ones, and the pages to write.

    Pages may be written side by side, because each notes its verdicts in its own pieces.
    """

    acks: Sequence[Ack]
    refused: list[Counter[Verdict]]
    pages: dict[tuple[BatchKey, int, Outcome], PagePlan] = field(default_factory=dict)
    touched: Counter[Outcome] = field(default_factory=Counter)

    def page(self, batch: Batch, number: int, outcome: Outcome) -> PagePlan:
        """Return a page of the request; raise TooManyPages if that exceeds the limit."""
        key = (batch.key, number, outcome)
        if key not in self.pages:
            self.touched[outcome] += 1
            if self.touched[outcome] > PAGES_MAX[outcome]:
                raise _too_many(outcome, batch)
            self.pages[key] = PagePlan(batch, number, outcome)
        return self.pages[key]

    def batches(self) -> list[Batch]:
        """Return the batches whose pages it writes."""
        return list({page.batch.key: page.batch for page in self.pages.values()}.values())

    def completions(self, ended: Iterable[Batch]) -> tuple[Completion, ...]:
        """Return those of the batches that have *ended* which a caller of any of their pages completed."""
        callers: dict[BatchKey, set[str]] = {}
        for page in self.pages.values():
            callers.setdefault(page.batch.key, set()).update(page.callers)
        complete = [(batch, batch.completed_by) for batch in ended if batch.state is State.COMPLETE]
        return tuple(Completion(batch, by) for batch, by in complete if by in callers[batch.key])

    def kept_results(self) -> Mapping[BatchKey, Sequence[ItemResult]]:
        """Return the results to keep, by batch: those of live batches that keep them."""
        found: dict[BatchKey, list[ItemResult]] = {}
        for page in self.pages.values():
            for ack in [piece.ack for piece in page.pieces] if page.batch.takes_results else ():
                if ack.result is not None:
                    item = str(ItemId(ack.batch_id, ack.group_id, ack.first))
                    found.setdefault(page.batch.key, []).append(ItemResult(item, ack.result))
        return found

    def see(self, batches: Iterable[Batch]) -> None:
        """Go on with *batches* as they were read after the plan was made."""
        stored = {batch.key: batch for batch in batches}
        for page in self.pages.values():
            page.batch = stored.get(page.batch.key, page.batch)

    def in_order(self) -> list[PagePlan]:
        """Return the pages to write, successes first: a failure never overrides a success of the request."""
        return sorted(self.pages.values(), key=lambda page: page.outcome is Outcome.FAILURE)

    def settle(self, page: PagePlan, fresh: int, known: int, otherwise: Verdict) -> None:
        """Note the verdicts of *page*: *fresh* items are accepted, other *known* items were acked before, and
        all others get the verdict *otherwise*. Of two acks that name one item the first is accepted.
        """
        for piece in page.pieces:
            for verdict, count in verdicts(piece.mask, fresh, known, otherwise).items():
                self.note(piece, verdict, count)
            fresh, known = fresh & ~piece.mask, known | piece.mask & fresh

    def foresee(self, page: PagePlan, stored: Page) -> None:
        """Note the verdict that each ack of *page* would get, if it was written alone over *stored*."""
        unset, exact = stored.unset(page.mask), page.batch.mode is Mode.EXACT
        fresh = unset | page.masks.success & stored.failed if exact else page.mask
        known = page.mask & ~unset if exact else 0
        late = TOO_LATE.get(page.batch.state, Verdict.LATE)
        for piece in page.pieces:
            counts = verdicts(piece.mask, fresh if page.batch.is_alive else 0, known, late)
            for verdict, count in counts.items():
                self.note(piece, verdict, count)

    def note(self, piece: Piece, verdict: Verdict, count: int) -> None:
        """Add *count* items of an ack to *verdict*."""
        if count:
            piece.counts[verdict] += count

    def results(self) -> tuple[Result, ...]:
        counts = [refused.copy() for refused in self.refused]
        for piece in (piece for page in self.pages.values() for piece in page.pieces):
            counts[piece.position] += piece.counts
        return tuple(Result(ack, dict(count)) for ack, count in zip(self.acks, counts, strict=True))


def verdicts(mask: int, fresh: int, known: int, otherwise: Verdict) -> dict[Verdict, int]:
    """Return how many items of *mask* got each verdict: *fresh* items are accepted, other *known* items were
    already acked, and all others get the verdict *otherwise*.
    """
    accepted, repeated = mask & fresh, mask & known & ~fresh
    remaining = mask & ~accepted & ~repeated
    counts = ((Verdict.ACCEPTED, accepted), (Verdict.DUPLICATE, repeated), (otherwise, remaining))
    return {verdict: items.bit_count() for verdict, items in counts if items}


def covers(batch: Batch, pages: Mapping[int, PageMasks]) -> bool:
    """Whether every bit of *pages* is an item of *batch* at its present total."""
    return all(
        number >= 0 and not masks.mask >> capacity(0, number, batch.total, batch.shape)
        for number, masks in pages.items()
    )


def is_expired(batch: Batch, now: datetime) -> bool:
    """Whether the batch has expired or was deleted; acks treat it as gone then.

    A clock ahead may have opened a deleted batch, so that its time seems to be still to come.
    """
    return batch.expires_at <= now or batch.state is State.EXPIRED or batch.deleted_at is not None


def judge(batch: Batch | None, ack: Ack, now: datetime) -> tuple[int, Verdict | None]:
    """Return where the group of *ack* starts in its batch, and the verdict if the ack is refused."""
    group = GroupId.decode(ack.group_id)
    if batch is None or group is None or not group.is_of(batch.salt, batch.batch_id):
        return 0, Verdict.NOT_FOUND
    if ack.last >= group.upto:
        return 0, Verdict.OUT_OF_RANGE
    if is_expired(batch, now):
        return 0, Verdict.EXPIRED
    return group.start, None


def payload_of(acks: Sequence[Ack]) -> str:
    """Return the payload of an idempotency key: what is acked and how, whatever the order and the callers."""
    return "\n".join(sorted(json.dumps(_facts(ack)) for ack in acks))


def _facts(ack: Ack) -> list[object]:
    facts = [ack.batch_id, ack.group_id, ack.first, ack.last, ack.outcome, ack.reason]
    return facts if ack.result is None else [*facts, ack.result]


def batch_ids(acks: Sequence[Ack]) -> list[str]:
    """Return the batches that *acks* name, each once; raise TooManyBatches above the limit."""
    found = list(dict.fromkeys(ack.batch_id for ack in acks))
    if len(found) > BATCHES_MAX:
        raise TooManyBatches(
            f"the items are of {len(found)} batches, and one request may ack items of {BATCHES_MAX} batches;"
            " send fewer in a request",
            field="acks",
        )
    return found


def plan(
    acks: Sequence[Ack],
    batch_of: Callable[[str], Batch | None],
    now: datetime,
    needs_kept_results: bool = True,
) -> AckPlan:
    """Judge every ack before anything is written, and cut the valid ones into pages.

    Raises TooManyPages, and, with *needs_kept_results*, InvalidRequest for the result of an item whose batch
    keeps none.
    """
    request = AckPlan(acks, [Counter() for _ in acks])
    for position, ack in enumerate(acks):
        batch = batch_of(ack.batch_id)
        start, refusal = judge(batch, ack, now)
        if refusal or batch is None:
            request.refused[position][refusal or Verdict.NOT_FOUND] += ack.size
            continue
        if ack.result is not None and needs_kept_results:
            batch.need_results("result", ", or ack without them")
        for number, first, last in stretches(start + ack.first, start + ack.last, batch.shape.leaf):
            request.page(batch, number, ack.outcome).pieces.append(Piece(position, first, last, ack))
    return request


def _too_many(outcome: Outcome, batch: Batch) -> TooManyPages:
    verb, pages, items = "fail" if outcome is Outcome.FAILURE else "ack", PAGES_MAX[outcome], batch.shape.leaf
    return TooManyPages(
        f"one request may {verb} items in {pages} pages, of {items} items each here; send fewer in a request",
        field="acks",
    )
