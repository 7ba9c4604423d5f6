"""What a change of a page says of its items: the bits of the new image that the old one lacks. Pure.

Only leaves hold items. Compaction takes digits away and sets none, so it tells of nothing; nor does the
deletion of a page. A failed item's bit is set in both families at once; healing takes it off the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from fanin.tracker.items import page_of
from fanin.tracker.page import lowest
from pipeline.history.records import Change, MalformedLine

Row = tuple[str, int, int | None, str, int, int, datetime, str]
"""A row of PAGE_CHANGES."""

SUCCESS, FAILURE, HEALED, COUNTED, TOUCHED = "success", "failure", "healed", "counted", "touched"


def rows_of(change: Change) -> Iterator[Row]:
    """The rows of PAGE_CHANGES that *change*, of the table of pages, stands for. Raises MalformedLine."""
    batch_id, level, page = _key(change)
    if level or not change.new:
        return
    try:
        old, new = page_of(dict(change.old)), page_of(dict(change.new))
    except (KeyError, ValueError, TypeError) as error:
        raise MalformedLine(f"its image is no page: {error}") from error
    acked, failed = new.bits & ~old.bits, new.failed & ~old.failed
    told: list[tuple[int | None, str, int]] = [(bit, SUCCESS, 1) for bit in bits(acked & ~failed)]
    told += [(bit, FAILURE, 1) for bit in bits(failed)]
    told += [(bit, HEALED, 0) for bit in bits(old.failed & ~new.failed)]
    counted = new.n - old.n - acked.bit_count()
    if counted > 0 and not (new.bits or old.bits):
        told.append((None, COUNTED, counted))
    for bit, what, count in told or [(None, TOUCHED, 0)]:
        yield batch_id, page, bit, what, count, new.n, change.at, change.id


def bits(mask: int) -> Iterator[int]:
    """The bits that are set in *mask*, lowest first."""
    while mask:
        yield lowest(mask)
        mask &= mask - 1


def _key(change: Change) -> tuple[str, int, int]:
    """(batch, level, page); a tenant may be called anything, so the key is read from its end."""
    try:
        _, batch_id, level, page = change.keys["pk"]["S"].rsplit("#", 3)
        return batch_id, int(level), int(page)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise MalformedLine("its key is not tenant#batch#level#page") from error
