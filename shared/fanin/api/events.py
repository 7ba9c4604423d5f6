"""Ending events: their details, made from the stored batch, and the confirmation of their arrival."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from fanin.api.ending_event import EndingEvent
from fanin.calling import log_failure
from fanin.errors import InvalidRequest, NewerSchema
from fanin.tracker import Batch, BatchKey, State, Tracker, checked_batch_id
from fanin.tracker.dynamodb.items import BATCH_ROW, key_of
from fanin.tracker.events import EVENT_TYPES, event_id

logger = logging.getLogger("fanin")


def endings(records: Iterable[Mapping[str, Any]], tracker: Tracker) -> list[dict[str, Any]]:
    """Return the details of the ending events of the batches in stream *records*, in order.

    They are made from the batches as they are stored now; the records only name them. Records of a live or
    deleted batch have no event. A batch that a newer release wrote is logged and left to its sweep.
    """
    keys = (key_of(record["dynamodb"]["Keys"]["pk"]["S"]) for record in records)
    found = (_readable(key, tracker) for key in keys)
    ended = (batch for batch in found if batch is not None and not batch.is_alive)
    return [EndingEvent.ended(batch, tracker).detail() for batch in ended]


def ended_states(records: Iterable[Mapping[str, Any]]) -> list[State]:
    """Return the states in which batches ended by *records*, without events that are sent again."""
    images = (record["dynamodb"].get("NewImage", {}) for record in records)
    states = (image["state"]["S"] for image in images if image.get("sk") == {"S": BATCH_ROW})
    return [State(state) for state in states if state in EVENT_TYPES]


def confirm(detail: Mapping[str, Any], tracker: Tracker) -> bool:
    """Record that the bus has the event of *detail*; return False if no stored batch has this event."""
    batch = batch_of_event(detail, tracker)
    if batch is None:
        return False
    tracker.confirm(batch)
    return True


def batch_of_event(detail: Mapping[str, Any], tracker: Tracker) -> Batch | None:
    """Return the batch whose ending event *detail* is; None if no stored batch has this event."""
    batch = _named(detail, tracker)
    if batch is None or batch.is_alive or detail.get("eventId") != event_id(batch):
        return None
    return batch


def _readable(key: BatchKey, tracker: Tracker) -> Batch | None:
    try:
        return tracker.store.get(key)
    except NewerSchema as error:
        log_failure(logger, "the ending event of batch %s is not sent", key.batch_id, error=error)
        return None


def _named(detail: Mapping[str, Any], tracker: Tracker) -> Batch | None:
    tenant, batch_id = detail.get("tenant"), detail.get("batchId")
    if not isinstance(tenant, str) or not isinstance(batch_id, str):
        return None
    try:
        return tracker.store.get(BatchKey(tenant, checked_batch_id(batch_id)))
    except InvalidRequest:
        return None
