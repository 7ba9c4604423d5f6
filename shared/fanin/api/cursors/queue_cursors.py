"""Cursors that hold the key of a row of a work queue: opaque texts, base64url without padding.

They grant no access, because each row is read as one of the caller's tenant.
"""

from __future__ import annotations

from fanin.queue.administration.paging import ListedRow
from fanin.queue.rules.keys import QUEUE_FORM
from fanin.queue.rules.order import IndexKey
from fanin.queue.rules.row_texts import bytes_of, decoded, refused, text_of

ROW_CURSOR_FORM = r"^[A-Za-z0-9_-]{2,2000}$"
IX_BYTES_MAX = 200
SESSION_BYTES_MAX = 200


def of_row(row: ListedRow | None) -> str | None:
    """Return the cursor after a row of a list of jobs."""
    if row is None:
        return None
    ix = row.key.ix.encode()
    return text_of(row.number.to_bytes(2, "big") + len(ix).to_bytes(2, "big") + ix + row.key.sort.encode())


def row_at(cursor: str | None, prefix: str) -> ListedRow | None:
    """Return the row of *cursor* in the list whose index keys begin with *prefix*. Raises InvalidRequest."""
    if cursor is None:
        return None
    raw = bytes_of(cursor)
    size = int.from_bytes(raw[2:4], "big")
    ix = decoded(raw[4 : 4 + size], "cursor", IX_BYTES_MAX)
    sort = decoded(raw[4 + size :], "cursor")
    if not ix.startswith(prefix) or len(ix.encode()) != size:
        raise refused("cursor")
    return ListedRow(int.from_bytes(raw[:2], "big"), IndexKey(ix, sort))


def of_name(name: str | None) -> str | None:
    """Return the cursor after the queue, or the session, of a name."""
    return None if name is None else text_of(name.encode())


def queue_at(cursor: str | None) -> str | None:
    """Return the name of the queue of *cursor*. Raises InvalidRequest."""
    if cursor is None:
        return None
    name = decoded(bytes_of(cursor), "cursor")
    if not QUEUE_FORM.fullmatch(name):
        raise refused("cursor")
    return name


def session_at(cursor: str | None) -> str | None:
    """Return the id of the session of *cursor*. Raises InvalidRequest."""
    return None if cursor is None else decoded(bytes_of(cursor), "cursor", SESSION_BYTES_MAX)
