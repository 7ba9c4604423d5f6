"""The port between the tracker and whatever keeps its items. Each call is one atomic request.

Every write is conditional and says what is stored afterwards, whether it was this write that put it there
or an earlier one: a caller that got no answer asks again and looks. Reads are consistent. A request whose
outcome is unknown raises StoreUnavailable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fanin.tracker.model import Batch, BatchKey, Group, PageKey, Receipt
from fanin.tracker.page import Page


@dataclass(frozen=True, slots=True)
class Written:
    """The page as it is stored now, and whether this write changed it."""

    page: Page
    applied: bool


class TrackerStore(Protocol):
    """What a store promises; the contract suite holds each of them to it."""

    def create(self, batch: Batch) -> Batch:
        """Store *batch* unless one of its key is there; the stored one either way."""

    def get(self, key: BatchKey) -> Batch | None:
        """The batch, if it is stored."""

    def reserve(self, seen: Batch, receipt: Receipt, group: Group) -> Receipt | None:
        """Grow the batch by the receipt's items, if it is still OPEN at the total *seen*.

        Answers the receipt that is stored under its key: this one, or the first one of that key.
        None where the batch has moved on and nothing was written.
        """

    def receipt(self, key: BatchKey, receipt_key: str) -> Receipt | None:
        """The reservation made under an idempotency key, if there was one."""

    def close(self, key: BatchKey, at: datetime, expires_at: datetime) -> Batch | None:
        """Turn OPEN into CLOSED; the batch as it is stored now, None if there is none."""

    def complete(self, key: BatchKey, caller: str, at: datetime, expires_at: datetime) -> Batch | None:
        """Turn CLOSED into COMPLETE, by *caller*; the batch as it is stored now, None if there is none."""

    def add_bits(self, key: PageKey, mask: int, expires_at: datetime) -> Written:
        """Set the bits of *mask* if all are clear and the page is not compacted, else change nothing."""

    def replace_bits(self, key: PageKey, seen: Page, mask: int, expires_at: datetime) -> Written:
        """Set the bits of *mask* if the page still has the count of bits *seen*, else change nothing."""

    def mark_tail(self, key: PageKey, size: int, root: bool, expires_at: datetime) -> Page:
        """Tell the last page of a level its size, and whether it is the root; the page as stored now."""

    def compact(self, key: PageKey, count: int) -> None:
        """Drop the digits of a page that is full at *count* bits; nothing where it is not, or was before."""

    def pages(self, keys: Collection[PageKey]) -> Mapping[PageKey, Page]:
        """Those of the pages that are stored."""
