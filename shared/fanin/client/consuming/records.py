"""What a record of a queue names: the item of its message, and the ack of a dead-letter message."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from fanin.client.argument_checks.checking import ranged
from fanin.client.argument_checks.reasons import fitting
from fanin.client.consuming.chunks import range_of
from fanin.errors import InvalidRequest
from fanin.isolating import Record
from fanin.tracker import Ack, ItemId, Outcome


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
    if isinstance(found := _value(body, "itemId"), str):
        return found
    found = _whole(body) or (attributes.get("itemId") or {}).get("stringValue")
    if isinstance(found, str):
        return found
    if _value(body, "items") is not None:
        raise InvalidRequest(
            "the message is a chunk of items: its consumer is @fanin.acks_each", field="itemId"
        )
    raise InvalidRequest("the message names no item", field="itemId")


def named_item(record: Record) -> str:
    """Return the item id of *record*; empty for a chunk of items, or if it names none."""
    try:
        return item_id_of(record)
    except InvalidRequest:
        return ""


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


def returned_ids(answer: Any, sent: AbstractSet[str]) -> set[str]:
    """Return the message ids of *sent* in a partial batch response; None and empty ones have none.

    Raises InvalidRequest for any other answer, with which Lambda returns the whole delivery.
    """
    try:
        failed = {entry["itemIdentifier"] for entry in (answer or {}).get("batchItemFailures") or ()}
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidRequest(f"the handler's answer is no partial batch response: {answer!r}") from error
    if unknown := failed - sent:
        raise InvalidRequest(f"the handler's answer names messages that it did not get: {unknown}")
    return failed
