"""Cursors and ids that hold the key of a row of a work queue: opaque texts, base64url without padding.

They grant no access, because each row is read as one of the caller's tenant.
"""

from __future__ import annotations

import base64

from fanin.errors import InvalidRequest
from fanin.queue.administration.paging import ListedRow, Record
from fanin.queue.rules.keys import QUEUE_FORM
from fanin.queue.rules.order import IndexKey

ROW_CURSOR_FORM = r"^[A-Za-z0-9_-]{2,2000}$"
SORT_BYTES_MAX = 1024
IX_BYTES_MAX = 200
SESSION_BYTES_MAX = 200


def of_row(row: ListedRow | None) -> str | None:
    """Return the cursor after a row of a list of jobs."""
    if row is None:
        return None
    ix = row.key.ix.encode()
    return _text(row.number.to_bytes(2, "big") + len(ix).to_bytes(2, "big") + ix + row.key.sort.encode())


def row_at(cursor: str | None, prefix: str) -> ListedRow | None:
    """Return the row of *cursor* in the list whose index keys begin with *prefix*. Raises InvalidRequest."""
    if cursor is None:
        return None
    raw = _bytes(cursor)
    size = int.from_bytes(raw[2:4], "big")
    ix = _decoded(raw[4 : 4 + size], "cursor", IX_BYTES_MAX)
    sort = _decoded(raw[4 + size :], "cursor")
    if not ix.startswith(prefix) or len(ix.encode()) != size:
        raise _refused("cursor")
    return ListedRow(int.from_bytes(raw[:2], "big"), IndexKey(ix, sort))


def of_dead(record: Record) -> str:
    """Return the id of a dead job."""
    number, sort = record
    return _text(number.to_bytes(2, "big") + sort.encode())


def dead_at(dead_id: str) -> Record:
    """Return the dead job of an id. Raises InvalidRequest."""
    raw = _bytes(dead_id, "deadIds")
    return int.from_bytes(raw[:2], "big"), _decoded(raw[2:], "deadIds")


def of_name(name: str | None) -> str | None:
    """Return the cursor after the queue, or the session, of a name."""
    return None if name is None else _text(name.encode())


def queue_at(cursor: str | None) -> str | None:
    """Return the name of the queue of *cursor*. Raises InvalidRequest."""
    if cursor is None:
        return None
    name = _decoded(_bytes(cursor), "cursor")
    if not QUEUE_FORM.fullmatch(name):
        raise _refused("cursor")
    return name


def session_at(cursor: str | None) -> str | None:
    """Return the id of the session of *cursor*. Raises InvalidRequest."""
    return None if cursor is None else _decoded(_bytes(cursor), "cursor", SESSION_BYTES_MAX)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _bytes(text: str, field: str = "cursor") -> bytes:
    """Return the bytes of *text*; refuse any text but their canonical one."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise _refused(field) from error
    if _text(raw) != text:
        raise _refused(field)
    return raw


def _decoded(raw: bytes, field: str, most: int = SORT_BYTES_MAX) -> str:
    """Return a key of DynamoDB, which is not empty."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise _refused(field) from error
    if not 1 <= len(raw) <= most:
        raise _refused(field)
    return text


def _refused(field: str) -> InvalidRequest:
    if field == "cursor":
        text = "the cursor is not one of this list; pass that of the page before"
    else:
        text = "a deadId is not one of a list of dead jobs; pass it as it was listed"
    return InvalidRequest(text, field=field)
