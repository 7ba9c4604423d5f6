"""What a record of a queue names: the item of its message, and the ack of a dead-letter message."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fanin.client.checking import ranged
from fanin.client.chunks import range_of
from fanin.client.reasons import fitting
from fanin.errors import InvalidRequest
from fanin.isolating import Record
from fanin.tracker import Ack, ItemId, Outcome


def records_of(event: Mapping[str, Any]) -> Sequence[Record]:
    """Return the records of an SQS event.

    Raises InvalidRequest if they are messages of ``receive_message``.
    """
    records: Sequence[Record] = event["Records"]
    if any("MessageId" in record and "messageId" not in record for record in records):
        raise InvalidRequest(
            "a record has messageId, body and attributes, as Lambda passes it, and not MessageId, Body and"
            " Attributes, as receive_message returns it: rename them (docs/consumers.md, Outside Lambda)",
            field="Records",
        )
    return records


def dead_letter_message_ack(record: Record, item_id: Callable[[Record], str] | None = None) -> Ack:
    """Return the ack of a dead-letter message: its item failed, because no consumer could process it.

    All items of a chunk failed, except those that are done. *item_id*: record -> item id; by default
    :func:`item_id_of`. Raises InvalidRequest if the message names no item.
    """
    chunk = _value(record["body"], "items") if item_id is None else None
    if chunk is not None:
        return ranged(range_of(chunk), record["messageId"], Outcome.FAILURE, _reason(record))
    item = ItemId.parse((item_id or item_id_of)(record))
    return Ack.of(item, record["messageId"], Outcome.FAILURE, _reason(record))


def _reason(record: Record) -> str | None:
    """Return the reason of a dead-letter message: the queue that it comes from."""
    source = str((record.get("attributes") or {}).get("DeadLetterQueueSourceArn", ""))
    queue = f" of {source.rsplit(':', 1)[-1]}" if source else ""
    return fitting(f"dead-letter message{queue}")


def item_id_of(record: Record) -> str:
    """Return the item id of *record*.

    It is ``itemId`` of a body that is a JSON object; else the whole body, if that is an item id; else the
    message attribute ``itemId``. Raises InvalidRequest if there is none of them.
    """
    body = record["body"].strip()
    attributes = record.get("messageAttributes") or {}
    for found in (_value(body, "itemId"), _whole(body), (attributes.get("itemId") or {}).get("stringValue")):
        if isinstance(found, str):
            return found
    raise InvalidRequest("the message names no item", field="itemId")


def _value(body: str, name: str) -> Any:
    """Return the value of *name* in a JSON object; None if the body is no such object."""
    if not body.lstrip().startswith("{"):
        return None
    try:
        return json.loads(body).get(name)
    except (ValueError, RecursionError):
        return None


def _whole(body: str) -> str | None:
    try:
        return str(ItemId.parse(body))
    except InvalidRequest:
        return None
