"""What the world hears of a batch: how it ended, from the batch as it is stored, and that the bus has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from pydantic.alias_generators import to_camel

from fanin.api.instants import iso
from fanin.errors import InvalidRequest
from fanin.tracker import Batch, BatchKey, Mode, State, Tracker, checked_batch_id
from fanin.tracker.dynamodb.items import BATCH_ROW, key_of
from fanin.tracker.events import EVENT_TYPES, CompletionEvent, event_id

RANGES_TOLD = 100
"""Outstanding ranges in an event; all of them are at the batch's own route."""


def endings(records: Iterable[Mapping[str, Any]], tracker: Tracker) -> list[dict[str, Any]]:
    """The details of the events that stream *records* give occasion to, in order.

    What is told is what is stored now: a record only names the batch, and one whose batch has not ended, or
    is gone, is passed over.
    """
    keys = (record["dynamodb"]["Keys"]["pk"]["S"] for record in records)
    found = (tracker.store.get(key_of(key)) for key in keys)
    return [_detail(batch, tracker) for batch in found if batch is not None and not batch.is_alive]


def turned_into(records: Iterable[Mapping[str, Any]]) -> list[State]:
    """The states in which batches ended here for the first time; a notice speaks of an end told before."""
    images = (record["dynamodb"].get("NewImage", {}) for record in records)
    states = (image["state"]["S"] for image in images if image.get("sk") == {"S": BATCH_ROW})
    return [State(state) for state in states if state in EVENT_TYPES]


def confirm(detail: Mapping[str, Any], tracker: Tracker) -> bool:
    """Note that the bus has the event of *detail*; whether it is the event of a batch that is stored so."""
    batch = _named(detail, tracker)
    if batch is None or batch.is_alive or detail.get("eventId") != event_id(batch):
        return False
    tracker.confirm(batch)
    return True


def _named(detail: Mapping[str, Any], tracker: Tracker) -> Batch | None:
    tenant, batch_id = detail.get("tenant"), detail.get("batchId")
    if not isinstance(tenant, str) or not isinstance(batch_id, str):
        return None
    try:
        return tracker.store.get(BatchKey(tenant, checked_batch_id(batch_id)))
    except InvalidRequest:
        return None


def _detail(batch: Batch, tracker: Tracker) -> dict[str, Any]:
    event = CompletionEvent.of(batch)
    detail: dict[str, Any] = {
        to_camel(fact.name): _value(getattr(event, fact.name)) for fact in fields(event)
    }
    if batch.state is State.COMPLETE or batch.mode is not Mode.EXACT:
        return detail
    ranges = tracker.outstanding(batch, 0, RANGES_TOLD).ranges
    told = [{"groupId": part.group_id, "from": part.first, "to": part.last} for part in ranges]
    return detail | {"outstanding": told}


def _value(fact: Any) -> Any:
    """Return *fact* as JSON has it: a time as text, all else as it is."""
    return iso(fact) if isinstance(fact, datetime) else fact
