"""Derives acked items from a change of a page: bits of the new image that the old one lacks. Pure.

Only leaves hold items. Compaction removes digits and the deletion of a page sets none, so neither yields an
ack; a write that fills a page and compacts it acks what was outstanding. A
failed item's bit is set in both families of digits at once; healing clears it in the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from fanin.tracker.dynamodb.items import page_of
from fanin.tracker.rules.page import mask_of
from pipeline.shared_by_jobs import bitmaps
from pipeline.table_changes.records import Change, MalformedLine

Row = tuple[str, int, list[int] | None, str, int, int, datetime, str]
"""A row of PAGE_CHANGES."""

SUCCESS, FAILURE, HEALED, COUNTED, TOUCHED = "success", "failure", "healed", "counted", "touched"


@dataclass(frozen=True, slots=True)
class PageChange:
    """The effects of a change of a leaf page: the bits of its items by ``what`` was done to them.

    *counted*: acks of an estimated batch, of which no bits are stored. *n*: the count of acks after it.
    """

    tenant: str
    batch_id: str
    page: int
    n: int
    masks: tuple[tuple[str, int], ...]
    counted: int


def page_change_of(change: Change) -> PageChange | None:
    """Return the effects of a change of the table of pages; None if it has none. Raises MalformedLine."""
    tenant, batch_id, level, page = _key(change)
    if level or not change.new:
        return None
    try:
        old, new = page_of(dict(change.old)), page_of(dict(change.new))
    except (KeyError, ValueError, TypeError) as error:
        raise MalformedLine(f"its image is no page: {error}") from error
    # A page that is compacted by its last acks counts more than before; a counter is compacted without acks.
    filled = new.compacted and not old.compacted and new.n > old.n
    bits_now = mask_of(0, new.n - 1) if filled else new.bits
    acked, failed = bits_now & ~old.bits, new.failed & ~old.failed
    of_items = ((SUCCESS, acked & ~failed), (FAILURE, failed), (HEALED, old.failed & ~new.failed))
    counted = 0 if new.bits or old.bits else max(0, new.n - old.n - acked.bit_count())
    masks = tuple((what, mask) for what, mask in of_items if mask)
    return PageChange(tenant, batch_id, page, new.n, masks, counted)


def rows_of(change: Change) -> Iterator[Row]:
    """Return the rows of PAGE_CHANGES of a change of the table of pages. Raises MalformedLine."""
    page = page_change_of(change)
    if page is None:
        return
    found: list[tuple[list[int] | None, str, int]] = [
        (bits(mask), what, 0 if what == HEALED else mask.bit_count()) for what, mask in page.masks
    ]
    if page.counted:
        found.append((None, COUNTED, page.counted))
    for numbers, what, count in found or [(None, TOUCHED, 0)]:
        yield page.batch_id, page.page, numbers, what, count, page.n, change.at, change.id


def bits(mask: int) -> list[int]:
    """Return the numbers of the bits set in *mask*, ascending."""
    of_page = np.frombuffer(bitmaps.from_mask(mask), np.uint8)
    numbers: list[int] = np.flatnonzero(np.unpackbits(of_page, bitorder="little")).tolist()
    return numbers


def _key(change: Change) -> tuple[str, str, int, int]:
    """Return (tenant, batch, level, page), parsed from the end because a tenant may contain separators."""
    try:
        tenant, batch_id, level, page = change.keys["pk"]["S"].rsplit("#", 3)
        return tenant, batch_id, int(level), int(page)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise MalformedLine("its key is not tenant#batch#level#page") from error
