"""The port between the tracker and the store of its rows.

A call that writes applies at most one atomic request, except ``block_samples`` and ``create_pages``.

Every write is conditional, except it and ``drop_token``, because a request can time out after it was
applied; it returns what is stored afterwards, whether this call or an earlier one wrote it, so it may be
repeated. An expired row may be deleted at once, late or never. Reads are consistent, except ``glance`` and
the lists (``due``, ``live``, ``listing``), which are eventually consistent and decide nothing. A request
whose result is unknown raises StoreUnavailable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fanin.tracker.rules.children import Children
from fanin.tracker.rules.filters import Query
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import (
    Batch,
    BatchKey,
    Group,
    ItemKey,
    ItemResult,
    Manifest,
    Outcome,
    PageKey,
    Position,
    Receipt,
    Sample,
)
from fanin.tracker.rules.options import TaskToken
from fanin.tracker.rules.page import Page, PageMasks
from fanin.tracker.rules.thresholds import Reached

PAGES_A_WRITE = 25
PAGES_A_COUNT = 50
"""Pages that one transaction writes with the count of their failures; DynamoDB takes 100 rows."""
ROWS_A_READ = 500
READS_A_LISTING = 4
ROWS_A_LISTING = ROWS_A_READ * READS_A_LISTING


@dataclass(frozen=True, slots=True)
class Written:
    """The page after a write, and whether this write changed it."""

    page: Page
    applied: bool


@dataclass(frozen=True, slots=True)
class Replacement:
    """A leaf as it was *seen*, and the bits to set in it. *fills*: it is full then, so it is compacted."""

    key: PageKey
    seen: Page
    masks: PageMasks
    fills: bool

    @property
    def page(self) -> Page:
        """The page afterwards, but for failures that are healed by now."""
        return self.seen.replaced(self.masks, self.fills)


@dataclass(frozen=True, slots=True)
class Listing:
    """A part of a list of batches, newest first; *resume* is the position to continue after, None at its end.

    A part may be short, or empty, and not be the last.
    """

    batches: tuple[Batch, ...]
    resume: Position | None


class TrackerStore(Protocol):
    """The contract of a store; the contract suite checks every implementation."""

    def create(self, batch: Batch, token: TaskToken | None = None) -> Batch | None:
        """Store *batch* and its task *token* unless its key is stored; return the stored batch.

        The child of an item is stored, and added to the item's children, if the item takes it
        (``Children.admits``); None if it is refused. So do the two calls below, which return the id that a
        *key* is bound to; *instead_of*, or the batch that it reopens, is the child in whose place it is.
        """

    def named(self, tenant: str, key: str) -> str | None:
        """Return the id of the batch opened under an idempotency key; the batch may have expired."""

    def create_under(
        self, batch: Batch, key: str, instead_of: str | None, token: TaskToken | None = None
    ) -> str | None:
        """Store *batch* and bind *key* to it, all or nothing, if *key* is unbound or bound to *instead_of*.

        Its task *token* is stored with it. Returns the id that the key is bound to now.
        """

    def create_reopened(
        self,
        batch: Batch,
        group: Group,
        ranges: Sequence[tuple[int, int]] | None,
        key: str | None,
        instead_of: str | None,
    ) -> str | None:
        """Store *batch* with its one *group*, and bind *key*, as :meth:`create_under` does, all or nothing.

        *ranges*: the items of its origin, if they are stored. Without a *key*, returns the batch's id, or
        None if it is a child that was refused.
        """

    def children(self, item: ItemKey) -> Children | None:
        """Return the children of an item; None if it never had one."""

    def children_from(self, key: BatchKey, start: int, limit: int) -> Sequence[tuple[int, Children]]:
        """Return the children of at most *limit* items of a batch that have had any, from item *start* on."""

    def end_child(self, item: ItemKey, child_id: str, failed: bool) -> Children | None:
        """Note that a live child of an item has ended; return its children, None if it never had one."""

    def origin_ranges(self, key: BatchKey) -> Sequence[tuple[int, int]] | None:
        """Return the items of a reopened batch's origin; None if they are not stored: all failed ones."""

    def get(self, key: BatchKey) -> Batch | None:
        """Return the batch, or None if it is not stored."""

    def task_token(self, key: BatchKey) -> TaskToken | None:
        """Return the task token of the batch, or None where it has none, or it was dropped."""

    def drop_token(self, key: BatchKey) -> None:
        """Remove the task token of the batch, whose task has ended."""

    def reserve(self, seen: Batch, receipt: Receipt, group: Group) -> Receipt | None:
        """Grow the batch by the receipt's items, if it is still OPEN at the total *seen*.

        Returns the receipt that is stored under its key: this one, or the first one of that key; None if the
        batch has changed and nothing was written.
        """

    def receipt(self, key: BatchKey, receipt_key: str) -> Receipt | None:
        """Return the reservation made under an idempotency key, if there is one."""

    def groups(self, key: BatchKey, start: int, last: int, limit: int) -> Sequence[tuple[int, Group]]:
        """Return at most *limit* groups of the items *start* to *last*, in order, with their first items."""

    def transition(self, key: BatchKey, change: Transition) -> Batch | None:
        """Apply the transition if the batch admits it; return the stored batch, None if there is none."""

    def cancel_children(self, key: BatchKey, next_check_at: datetime) -> Batch | None:
        """Mark a cancelled batch as cancelled with its children, and plan its next check.

        Return the stored batch, None if there is none.
        """

    def extend(self, key: BatchKey, expires_at: datetime, next_check_at: datetime) -> Batch | None:
        """Extend a live batch if this expiry is later; return the stored batch, None if there is none."""

    def postpone(self, seen: Batch, next_check_at: datetime | None) -> None:
        """Set the next check of a batch, or remove it, unless the batch has changed since it was *seen*."""

    def notice(self, batch: Batch, at: datetime) -> None:
        """Request that the ending event of a batch is resent."""

    def report(self, seen: Batch, reached: Reached) -> bool:
        """Mark a threshold as reported and request its event, all or nothing; return whether this call did.

        Nothing is written to a batch that has ended, whose threshold is marked, or whose stall is over since
        it was *seen*.
        """

    def record_ack_time(self, key: BatchKey, at: datetime) -> Batch | None:
        """Set the time of a live batch's last ack, if it is later; return the stored batch, None if none."""

    def is_confirmed(self, key: BatchKey) -> bool:
        """Whether the bus has confirmed the ending event."""

    def confirm(self, key: BatchKey, expires_at: datetime) -> None:
        """Record that the bus has the ending event."""

    def is_put(self, key: BatchKey) -> bool:
        """Whether the ending event is marked as put, or confirmed."""

    def mark_put(self, key: BatchKey, expires_at: datetime) -> None:
        """Record that a put of the ending event was accepted, which the bus has still to confirm."""

    def prepare(self, key: PageKey, failing: bool, expires_at: datetime) -> None:
        """Store a page above the leaves unless it is stored; *failing*: mark that items below it may fail."""

    def create_pages(self, pages: Mapping[PageKey, Page], expires_at: datetime) -> Collection[PageKey]:
        """Store at most ``PAGES_A_WRITE`` leaves without failures, each unless it is stored.

        Return the keys of those that this call stored. Each is stored or not whatever becomes of the others:
        when StoreUnavailable is raised, any of them may be.
        """

    def add_bits(self, key: PageKey, masks: PageMasks, expires_at: datetime) -> Written:
        """Set the bits of *masks* if all are clear and the page is not compacted, else change nothing.

        Bits of a leaf that failed are counted in the live batch in the same transaction; a leaf of a batch
        that has ended takes none. The marks of a parent page are counted nowhere.
        """

    def replace_bits(
        self,
        key: PageKey,
        seen: Page,
        masks: PageMasks,
        expires_at: datetime,
        fills: bool = False,
        inner: bool = False,
    ) -> Written:
        """Set the bits of *masks* if the page still has the count of bits *seen*, else change nothing.

        Failures are counted as :meth:`add_bits` counts them. *fills*: the page is full after it, and so it
        is compacted at once. *inner*: close will not mark the page; what follows from *seen* is returned, in
        which failures may be healed by now.
        """

    def replace_pages(self, leaves: Sequence[Replacement], expires_at: datetime) -> bool:
        """Do what :meth:`replace_bits` does to at most ``PAGES_A_COUNT`` *leaves* of a batch, all or nothing.

        Their failures, of which there are some, are counted in the live batch in the same transaction.
        Return whether they were written.
        """

    def heal_bits(self, key: PageKey, mask: int) -> bool:
        """Remove the failed bits of *mask* from the page and from the live batch's count, all or nothing."""

    def add_count(self, key: PageKey, count: int, outcome: Outcome, expires_at: datetime) -> Written:
        """Count acks in a page of an estimated batch, unless it is compacted.

        Failures are counted in the live batch in the same transaction.
        """

    def mark_tail(self, key: PageKey, size: int, root: bool, expires_at: datetime) -> Page:
        """Write the size of a level's last page, and whether it is the root; return the stored page."""

    def compact(self, key: PageKey, count: int) -> None:
        """Remove the digits of a page that is full at *count* bits, unless it was compacted before."""

    def pages(self, keys: Collection[PageKey], bits: bool = True) -> Mapping[PageKey, Page]:
        """Return the pages that are stored; without *bits*, only how many of the acked bits are set."""

    def glance(self, keys: Collection[PageKey], bits: bool) -> Mapping[PageKey, Page]:
        """Return what ``pages`` does, by eventually consistent reads, so the pages may be older."""

    def sample(self, key: BatchKey, slot: int, sample: Sample, expires_at: datetime) -> Sample | None:
        """Keep a failure's reason in a free slot; return the one that is there now, None if it is blocked."""

    def samples(self, key: BatchKey) -> Sequence[Sample]:
        """Return the kept reasons, including those of items that were healed since."""

    def free_sample(self, key: BatchKey, slot: int, item_id: str) -> bool:
        """Remove the reason in a slot if it is that of the item; return whether it was."""

    def block_samples(self, key: BatchKey, slots: Sequence[int], expires_at: datetime) -> None:
        """Remove the reasons in *slots*, and let none be kept there, however late its write arrives.

        Several requests: a repetition writes the same rows.
        """

    def delete(self, seen: Batch, at: datetime) -> Batch | None:
        """Remove the user data of a batch that has ended and has no next check; return the stored batch.

        Nothing changes for any other batch. A deleted batch is over for every reader, and in no list.
        """

    def remember(
        self, tenant: str, route: str, key: str, fingerprint: str, at: datetime, expires_at: datetime
    ) -> str:
        """Bind an idempotency key of a route to a payload; return the fingerprint of its first payload.

        A binding that has expired by *at* is replaced, whether its row is deleted or not.
        """

    def due(self, shard: int, alive: bool, at: datetime) -> Iterable[BatchKey]:
        """Yield the live or the ended batches of a shard whose check is due by *at*, the earliest first.

        Rows are read as they are consumed.
        """

    def live(self, shard: int) -> Iterable[BatchKey]:
        """Yield the live batches of a shard, the oldest first; rows are read as they are consumed."""

    def listing(self, query: Query) -> Listing:
        """Return batches of one list, newest first: at most ``query.limit``, all older than ``query.before``.

        It reads ``ROWS_A_LISTING`` rows at most, however few of them match the filter.
        """


class ResultStore(Protocol):
    """Keeps the results of batches. Raises StoreUnavailable if the outcome of a request is unknown."""

    def keep(self, key: BatchKey, results: Sequence[ItemResult]) -> None:
        """Write *results* of items of one batch as a part, before these items are acked."""

    def freeze(self, key: BatchKey) -> Manifest:
        """Fix the parts of an ended batch: the first call decides, and every other returns the same."""

    def delete(self, key: BatchKey) -> bool:
        """Remove a bounded part of what is kept of a batch; return whether nothing is left."""
