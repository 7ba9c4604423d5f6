"""Cursors of lists: opaque texts, base64url without padding; each kind of list has another length or form.

They are not signed: a cursor grants no access, because each page is read as the caller's tenant.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from uuid import UUID

from fanin.errors import InvalidRequest
from fanin.tracker.rules.model import Position

CURSOR_FORM = r"^[A-Za-z0-9_-]{8,180}$"
ITEM_BYTES = 6
BATCH_BYTES = 24
TERM_BYTES = 12
PAIR_BYTES = 14
NO_FENCE = 2**64 - 1
Term = tuple[int, int | None]
"""A shard, and the fence of the last bundle before the position; None at the start of the shard."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def of_item(resume: int | None) -> str | None:
    """Return the cursor of the item *resume* of a batch, 0 to 2^48 - 1."""
    return None if resume is None else text_of(resume.to_bytes(ITEM_BYTES, "big"))


def item_at(cursor: str | None) -> int:
    """Return the item of *cursor*; 0 for None. Raises InvalidRequest."""
    return 0 if cursor is None else int.from_bytes(bytes_of(cursor, ITEM_BYTES), "big")


def of_pair(resume: tuple[int, int] | None) -> str | None:
    """Return the cursor of an item of a reopened batch's origin, and its rank."""
    if resume is None:
        return None
    return text_of(b"".join(number.to_bytes(PAIR_BYTES // 2, "big") for number in resume))


def pair_at(cursor: str | None) -> tuple[int, int]:
    """Return the item of the origin and the rank of *cursor*; the first for None. Raises InvalidRequest."""
    if cursor is None:
        return 0, 0
    raw, half = bytes_of(cursor, PAIR_BYTES), PAIR_BYTES // 2
    return int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big")


def of_batch(resume: Position | None) -> str | None:
    """Return the cursor of a position in a list of batches."""
    if resume is None:
        return None
    at, batch_id = resume
    return text_of(((at - EPOCH) // MICROSECOND).to_bytes(8, "big") + UUID(batch_id).bytes)


def batch_at(cursor: str | None) -> Position | None:
    """Return the position of *cursor* in a list of batches. Raises InvalidRequest."""
    if cursor is None:
        return None
    raw = bytes_of(cursor, BATCH_BYTES)
    try:
        at = EPOCH + int.from_bytes(raw[:8], "big") * MICROSECOND
    except OverflowError as error:
        raise refused() from error
    return at, str(UUID(bytes=raw[8:]))


def of_term(resume: Term | None) -> str | None:
    """Return the cursor of a position in a list of bundles."""
    if resume is None:
        return None
    shard, fence = resume
    return text_of(shard.to_bytes(4, "big") + (NO_FENCE if fence is None else fence).to_bytes(8, "big"))


def term_at(cursor: str | None) -> Term:
    """Return the position of *cursor* in a list of bundles; the first for None. Raises InvalidRequest."""
    if cursor is None:
        return 0, None
    raw = bytes_of(cursor, TERM_BYTES)
    shard, fence = int.from_bytes(raw[:4], "big"), int.from_bytes(raw[4:], "big")
    return shard, None if fence == NO_FENCE else fence


def text_of(raw: bytes) -> str:
    """Return the cursor of *raw*."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def bytes_of(cursor: str, length: int | None = None) -> bytes:
    """Return the bytes of *cursor*, of *length* if that is given; refuse any text but their canonical one."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise refused() from error
    if length not in (None, len(raw)) or text_of(raw) != cursor:
        raise refused()
    return raw


def refused() -> InvalidRequest:
    """Return the error for a cursor of another list."""
    return InvalidRequest("the cursor is not one of this list; pass that of the page before", field="cursor")
