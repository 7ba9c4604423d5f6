"""Messages of chunks: one message for a range of neighbours, with their rows or a pointer to them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanin.client.argument_checks.checking import ranged
from fanin.client.items import Items
from fanin.client.transports.transport import Acks
from fanin.errors import Conflict, InvalidRequest
from fanin.isolating import Record
from fanin.tracker import Ack, ItemId
from fanin.tracker.reads.window import WINDOW_MAX


@dataclass(frozen=True, slots=True)
class ChunkItem:
    """One item of a message, as ``@fanin.acks_each`` passes it to its function.

    *index*: its index in its group. *row*: its row of the message; None if the message has no rows.
    *record*: the message, as Lambda delivers it.
    """

    id: str
    index: int
    row: Any
    record: Record


@dataclass(frozen=True, slots=True)
class Chunk:
    """A message's range of items, without gaps, and a row for each of them if the message has rows."""

    items: Items
    rows: Sequence[Any] | None
    record: Record

    @property
    def ack(self) -> Ack:
        """Return the ack of all items, on behalf of the message."""
        return ranged(self.items, self.record["messageId"])

    def remaining(self, transport: Acks) -> list[int]:
        """Return the indexes of the items that are not done with success; all, if the batch is estimated."""
        indexes = self.items.indexes
        try:
            found = transport.outstanding_of(
                self.items.batch_id, self.items.group_id, indexes[0], indexes[-1], failed=True
            )
        except Conflict:
            return list(indexes)
        return [index for items in found for index in items.indexes]

    def item(self, index: int) -> ChunkItem:
        """Return the item with this index in its group."""
        row = None if self.rows is None else self.rows[index - self.items.indexes.start]
        return ChunkItem(f"{self.items.batch_id}:{self.items.group_id}:{index}", index, row, self.record)


def chunk_of(record: Record) -> Chunk:
    """Return the chunk of a message: that of ``Items.message``, or one item with ``itemId`` and ``record``.

    Raises InvalidRequest if the message is neither.
    """
    body = _object(record["body"])
    if "items" not in body:
        items, row = _single(body), body.get("record")
        return Chunk(items, [row], record)
    items, rows = range_of(body["items"]), body.get("rows")
    if rows is not None and not isinstance(rows, list):
        raise InvalidRequest("the rows of the message are no list", field="rows")
    if rows is not None and len(rows) != len(items):
        raise InvalidRequest(f"the message has {len(items)} items, and {len(rows)} rows", field="rows")
    return Chunk(items, rows, record)


def range_of(text: object) -> Items:
    """Return the items of ``batchId:groupId:first-last``, at most 10,000. Raises InvalidRequest."""
    items = Items.parse(text)
    if len(items) > WINDOW_MAX:
        raise InvalidRequest(f"a chunk has at most {WINDOW_MAX} items", field="items")
    return items


def _single(body: Mapping[str, Any]) -> Items:
    item = ItemId.parse(body["itemId"]) if isinstance(body.get("itemId"), str) else None
    if item is None:
        raise InvalidRequest("the message names no items", field="items")
    return range_of(f"{item}-{item.index}")


def _object(text: str) -> Mapping[str, Any]:
    """Return the JSON object in *text*. Raises InvalidRequest."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("the message is not JSON", field="body") from error
    if not isinstance(body, dict):
        raise InvalidRequest("the message is not a JSON object", field="body")
    return body
