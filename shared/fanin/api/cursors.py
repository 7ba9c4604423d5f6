"""Where a list goes on, as a text that means nothing to its reader: base64url without padding, fixed length.

It is not signed: it names a place and grants nothing, for each page is read on behalf of the one who asks.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from uuid import UUID

from fanin.errors import InvalidRequest
from fanin.tracker.model import Position

CURSOR_FORM = r"^[A-Za-z0-9_-]{8,40}$"
ITEM_BYTES = 6
PLACE_BYTES = 24
TERM_BYTES = 12
NO_FENCE = 2**64 - 1
Term = tuple[int, int | None]
"""A shard, and the fence that the bundles before it had; None at the shard's beginning."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def of_item(resume: int | None) -> str | None:
    """The cursor of the item *resume* of a batch, 0 to 2^48 - 1."""
    return None if resume is None else _text(resume.to_bytes(ITEM_BYTES, "big"))


def item_at(cursor: str | None) -> int:
    """The item that *cursor* stands for, the first one where it is None; InvalidRequest for garbage."""
    return 0 if cursor is None else int.from_bytes(_bytes(cursor, ITEM_BYTES), "big")


def of_place(resume: Position | None) -> str | None:
    """The cursor of a place in a list of batches."""
    if resume is None:
        return None
    at, batch_id = resume
    return _text(((at - EPOCH) // MICROSECOND).to_bytes(8, "big") + UUID(batch_id).bytes)


def place_at(cursor: str | None) -> Position | None:
    """The place that *cursor* stands for; InvalidRequest for any other text."""
    if cursor is None:
        return None
    raw = _bytes(cursor, PLACE_BYTES)
    try:
        at = EPOCH + int.from_bytes(raw[:8], "big") * MICROSECOND
    except OverflowError as error:
        raise _refused() from error
    return at, str(UUID(bytes=raw[8:]))


def of_term(resume: Term | None) -> str | None:
    """The cursor of a place in a list of bundles."""
    if resume is None:
        return None
    shard, fence = resume
    return _text(shard.to_bytes(4, "big") + (NO_FENCE if fence is None else fence).to_bytes(8, "big"))


def term_at(cursor: str | None) -> Term:
    """The place that *cursor* stands for, the first one where it is None; InvalidRequest for garbage."""
    if cursor is None:
        return 0, None
    raw = _bytes(cursor, TERM_BYTES)
    shard, fence = int.from_bytes(raw[:4], "big"), int.from_bytes(raw[4:], "big")
    return shard, None if fence == NO_FENCE else fence


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _bytes(cursor: str, length: int) -> bytes:
    """The bytes in *cursor*, where it is the one text that stands for them."""
    try:
        raw = base64.b64decode(cursor, altchars=b"-_", validate=True)
    except ValueError as error:
        raise _refused() from error
    if len(raw) != length or _text(raw) != cursor:
        raise _refused()
    return raw


def _refused() -> InvalidRequest:
    return InvalidRequest("the cursor is not one that this list gave", field="cursor")
