"""The port between the tracker and whatever keeps its items. Each call is one atomic request.

Every write is conditional and says what is stored afterwards, whether it was this write that put it there
or an earlier one: a caller that got no answer asks again and looks. A row that has expired may be deleted
at once, or late, or never. Reads are consistent, but for the lists
(``due``, ``live``, ``listing``), which may lag and decide nothing. A request whose outcome is unknown raises
StoreUnavailable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fanin.tracker.lifecycle import Turn
from fanin.tracker.model import Batch, BatchKey, Group, Outcome, PageKey, Position, Query, Receipt, Sample
from fanin.tracker.page import Page, PageMasks

ROWS_A_READ = 500
READS_A_LISTING = 4
ROWS_A_LISTING = ROWS_A_READ * READS_A_LISTING


@dataclass(frozen=True, slots=True)
class Written:
    """The page as it is stored now, and whether this write changed it."""

    page: Page
    applied: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """A part of a list of batches, newest first; *resume* is the position to continue after, None at its end.

    A part may be short, or empty, and not be the last.
    """

    batches: tuple[Batch, ...]
    resume: Position | None


class TrackerStore(Protocol):
    """What a store promises; the contract suite holds each of them to it."""

    def create(self, batch: Batch) -> Batch:
        """Store *batch* unless one of its key is there; the stored one either way."""

    def named(self, tenant: str, key: str) -> str | None:
        """The id of the batch that an idempotency key of open stands for, which may be over, or deleted."""

    def create_under(self, batch: Batch, key: str, instead_of: str | None) -> str | None:
        """Store *batch* and let *key* stand for it, if the key stands for *instead_of*, or for nothing.

        All or nothing; the id that the key stands for now.
        """

    def get(self, key: BatchKey) -> Batch | None:
        """The batch, if it is stored."""

    def reserve(self, seen: Batch, receipt: Receipt, group: Group) -> Receipt | None:
        """Grow the batch by the receipt's items, if it is still OPEN at the total *seen*.

        Answers the receipt that is stored under its key: this one, or the first one of that key.
        None where the batch has moved on and nothing was written.
        """

    def receipt(self, key: BatchKey, receipt_key: str) -> Receipt | None:
        """The reservation made under an idempotency key, if there was one."""

    def groups(self, key: BatchKey, start: int, last: int, limit: int) -> Sequence[tuple[int, Group]]:
        """The groups of the items *start* to *last*, in order, each with its first item; *limit* at most."""

    def turn(self, key: BatchKey, turn: Turn) -> Batch | None:
        """Take the step if the batch admits it; the batch as it is stored now, None if there is none."""

    def extend(self, key: BatchKey, expires_at: datetime, due_at: datetime) -> Batch | None:
        """Let a live batch live longer, if this is longer; the batch as stored now, None if there is none."""

    def postpone(self, seen: Batch, due_at: datetime | None) -> None:
        """Look at a batch again at *due_at*, or never, unless it has moved since it was *seen*."""

    def notice(self, batch: Batch, at: datetime) -> None:
        """Have the ending event of a batch sent once more."""

    def announced(self, key: BatchKey) -> bool:
        """Whether the bus has confirmed the ending event."""

    def confirm(self, key: BatchKey, expires_at: datetime) -> None:
        """Note that the bus has the ending event."""

    def add_bits(self, key: PageKey, masks: PageMasks, expires_at: datetime) -> Written:
        """Set the bits of *masks* if all are clear and the page is not compacted, else change nothing.

        Bits of a leaf that failed are counted in the live batch in the same transaction; a leaf of a batch
        that has ended takes none. The marks of a parent page are counted nowhere.
        """

    def replace_bits(self, key: PageKey, seen: Page, masks: PageMasks, expires_at: datetime) -> Written:
        """Set the bits of *masks* if the page still has the count of bits *seen*, else change nothing.

        Failures are counted as :meth:`add_bits` counts them.
        """

    def heal_bits(self, key: PageKey, mask: int) -> bool:
        """Take the failed bits of *mask* off the page and off the live batch's count, all or nothing."""

    def add_count(self, key: PageKey, count: int, outcome: Outcome, expires_at: datetime) -> Written:
        """Count acks in a page of an estimated batch, unless it is compacted.

        Failures are counted in the live batch in the same transaction.
        """

    def mark_tail(self, key: PageKey, size: int, root: bool, expires_at: datetime) -> Page:
        """Tell the last page of a level its size, and whether it is the root; the page as stored now."""

    def compact(self, key: PageKey, count: int) -> None:
        """Drop the digits of a page that is full at *count* bits; nothing where it is not, or was before."""

    def pages(self, keys: Collection[PageKey]) -> Mapping[PageKey, Page]:
        """Those of the pages that are stored."""

    def sample(self, key: BatchKey, slot: int, sample: Sample, expires_at: datetime) -> Sample:
        """Keep a failure's reason in a free slot; the sample that is in the slot now."""

    def samples(self, key: BatchKey) -> Sequence[Sample]:
        """The reasons that were kept, also of items that were healed since."""

    def remember(
        self, tenant: str, route: str, key: str, fingerprint: str, at: datetime, expires_at: datetime
    ) -> str:
        """Bind an idempotency key of a route to a payload; the fingerprint that it came with first.

        A binding that has expired by *at* counts for nothing, whether it is deleted or not.
        """

    def due(self, shard: int, alive: bool, at: datetime) -> Iterable[BatchKey]:
        """Batches of a shard to look at by *at*, the longest due first: the live ones, or those that ended.

        Rows are read as they are consumed. A batch that ended under version 0.1 may be among the live ones.
        """

    def live(self, shard: int) -> Iterable[BatchKey]:
        """The live batches of a shard, the oldest first; rows are read as they are consumed."""

    def listing(self, query: Query) -> Listing:
        """Batches of one list, newest first; at most ``query.limit``, all older than ``query.before``.

        It looks at ``ROWS_A_LISTING`` batches at most, however few of them match the filter.
        """
