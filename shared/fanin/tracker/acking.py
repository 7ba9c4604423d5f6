"""An ack request, sorted by page: what each page is asked to set, and what that says of each ack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fanin.tracker.ids import GroupId
from fanin.tracker.model import Ack, Batch, BatchKey, Result, Verdict
from fanin.tracker.page import mask_of
from fanin.tracker.tree import stretches


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of an ack that falls into one page."""

    position: int
    mask: int
    caller: str


@dataclass(slots=True)
class PagePlan:
    """What one request sets in one leaf page."""

    batch: Batch
    number: int
    pieces: list[Piece] = field(default_factory=list)

    @property
    def mask(self) -> int:
        union = 0
        for piece in self.pieces:
            union |= piece.mask
        return union

    @property
    def speaker(self) -> str:
        """The caller in whose name the page is written: the one with the highest item."""
        return max(self.pieces, key=lambda piece: piece.mask.bit_length()).caller

    @property
    def callers(self) -> set[str]:
        return {piece.caller for piece in self.pieces}

    def settle(self, fresh: int) -> Iterator[tuple[int, int, int]]:
        """Share out the bits that were set: (position of the ack, accepted, duplicate).

        Where two acks of a request name one item, the first is accepted and the other a duplicate.
        """
        for piece in self.pieces:
            accepted = (piece.mask & fresh).bit_count()
            fresh &= ~piece.mask
            yield piece.position, accepted, piece.mask.bit_count() - accepted


@dataclass(slots=True)
class AckPlan:
    """A request on its way: its acks, their verdicts so far, and the pages still to write."""

    acks: Sequence[Ack]
    counts: list[Counter[Verdict]]
    pages: dict[tuple[BatchKey, int], PagePlan]

    def note(self, page: PagePlan, fresh: int) -> None:
        """Record what a written page says of the acks in it."""
        for position, accepted, duplicate in page.settle(fresh):
            found = Counter({Verdict.ACCEPTED: accepted, Verdict.DUPLICATE: duplicate})
            self.counts[position] += found

    def results(self) -> tuple[Result, ...]:
        return tuple(Result(ack, dict(count)) for ack, count in zip(self.acks, self.counts, strict=True))


def judge(batch: Batch | None, ack: Ack, now: datetime) -> tuple[int, Verdict | None]:
    """Where the group of *ack* starts in its batch; or the verdict, where no bit may be touched."""
    group = GroupId.decode(ack.group_id)
    if batch is None or group is None or not group.is_of(batch.salt, batch.batch_id):
        return 0, Verdict.NOT_FOUND
    if ack.last >= group.upto:
        return 0, Verdict.OUT_OF_RANGE
    if batch.expires_at <= now:
        return 0, Verdict.EXPIRED
    return group.start, None


def plan(acks: Sequence[Ack], batch_of: Callable[[str], Batch | None], now: datetime) -> AckPlan:
    """Judge every ack before anything is written, and cut the good ones into pages."""
    made = AckPlan(acks, [Counter() for _ in acks], {})
    for position, ack in enumerate(acks):
        batch = batch_of(ack.batch_id)
        start, refusal = judge(batch, ack, now)
        if refusal or batch is None:
            made.counts[position][refusal or Verdict.NOT_FOUND] += ack.size
            continue
        for number, first, last in stretches(start + ack.first, start + ack.last, batch.page_bits):
            page = made.pages.setdefault((batch.key, number), PagePlan(batch, number))
            page.pieces.append(Piece(position, mask_of(first, last), ack.caller))
    return made
