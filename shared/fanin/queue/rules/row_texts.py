"""Keys of rows as opaque texts, base64url without padding: the ids of dead jobs, and cursors."""

from __future__ import annotations

import base64

from fanin.errors import InvalidRequest

SORT_BYTES_MAX = 1024


def dead_id_of(record: tuple[int, str]) -> str:
    """Return the id of a dead job, given by the number of its part and its sort key there."""
    number, sort = record
    return text_of(number.to_bytes(2, "big") + sort.encode())


def record_of(dead_id: str) -> tuple[int, str]:
    """Return the dead job of an id. Raises InvalidRequest."""
    raw = bytes_of(dead_id, "deadIds")
    return int.from_bytes(raw[:2], "big"), decoded(raw[2:], "deadIds")


def text_of(raw: bytes) -> str:
    """Return *raw* as text."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def bytes_of(text: str, field: str = "cursor") -> bytes:
    """Return the bytes of *text*; refuse any text but their canonical one."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_")
    except ValueError as error:
        raise refused(field) from error
    if text_of(raw) != text:
        raise refused(field)
    return raw


def decoded(raw: bytes, field: str, most: int = SORT_BYTES_MAX) -> str:
    """Return a key of DynamoDB, which is not empty."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise refused(field) from error
    if not 1 <= len(raw) <= most:
        raise refused(field)
    return text


def refused(field: str) -> InvalidRequest:
    """Return the error of a text that is no key."""
    if field == "cursor":
        text = "the cursor is not one of this list; pass that of the page before"
    else:
        text = "a deadId is not one of a list of dead jobs; pass it as it was listed"
    return InvalidRequest(text, field=field)
