"""Ending events: made from the stored batch, put on the bus, and the confirmation of their arrival."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fanin.api.bus_events.progress_event import ProgressEvent
from fanin.api.callers import TENANT_MAX
from fanin.completion_events.ending_event import EndingEvent
from fanin.errors import InvalidRequest, NewerSchema
from fanin.tracker import Batch, BatchKey, State, Tracker, checked_batch_id
from fanin.tracker.dynamodb.items import BATCH_ROW, key_of
from fanin.tracker.dynamodb.thresholds import NOTICE, reached_of
from fanin.tracker.events import EVENT_TYPES, event_id
from fanin.user_functions import log_failure

if TYPE_CHECKING:
    from fanin.aws.messaging.bus import Bus

logger = logging.getLogger("fanin")


def publish_endings(records: Sequence[Mapping[str, Any]], tracker: Tracker, bus: Bus) -> int:
    """Put the events of the batches in stream *records* on *bus*, and return how many there were.

    Raises StoreUnavailable if one may be missing; the delivery may be repeated.
    """
    from fanin.aws.messaging.bus import Event  # noqa: PLC0415  # a fake client runs without boto3

    details = endings(records, tracker)
    if details:
        bus.put([Event(detail["detailType"], detail) for detail in details])
    return len(details)


def endings(records: Iterable[Mapping[str, Any]], tracker: Tracker) -> list[dict[str, Any]]:
    """Return the details of the events of the batches in stream *records*, in order.

    Ending events are made from the batches as they are stored now; the records only name them. The notice of
    a threshold has the progress at that time. The end of a batch has no event if it was put at once; a notice
    requests it again. Records of a live batch have no ending event, those of a deleted batch no event:
    it is deleted after its ending event was confirmed. A batch that a newer release wrote is logged and left
    to its sweep.
    """
    found = (_detail(record["dynamodb"], tracker) for record in records)
    return [detail for detail in found if detail is not None]


def forced(records: Iterable[Mapping[str, Any]]) -> int:
    """Return how many of *records* are the end of a batch that a principal forced."""
    images = (record["dynamodb"].get("NewImage", {}) for record in records)
    return sum(image.get("sk") == {"S": BATCH_ROW} and "endedBy" in image for image in images)


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


def _detail(change: Mapping[str, Any], tracker: Tracker) -> dict[str, Any] | None:
    """Return the detail of the event of one changed row; None if it has none."""
    keys = change["Keys"]
    batch = _readable(keys["pk"]["S"], tracker)
    if batch is None or batch.deleted_at is not None:
        return None
    if keys["sk"]["S"].startswith(NOTICE):
        return ProgressEvent.of(batch, reached_of(change["NewImage"])).detail()
    if batch.is_alive or (keys["sk"]["S"] == BATCH_ROW and tracker.is_put(batch)):
        return None
    return EndingEvent.ended(batch, tracker).detail()


def batch_of_event(detail: Mapping[str, Any], tracker: Tracker) -> Batch | None:
    """Return the batch whose ending event *detail* is; None if no stored batch has this event."""
    batch = _named(detail, tracker)
    if batch is None or batch.is_alive or detail.get("eventId") != event_id(batch):
        return None
    return batch


def _readable(pk: str, tracker: Tracker) -> Batch | None:
    """Return the batch whose row has the key *pk*; None if there is none, or it cannot be read."""
    try:
        return tracker.store.get(key_of(pk))
    except (NewerSchema, ValueError) as error:  # ValueError: no batch has such a key
        log_failure(
            logger, "the ending event of batch %.100s is not sent", pk.rpartition("#")[2], error=error
        )
        return None


def _named(detail: Mapping[str, Any], tracker: Tracker) -> Batch | None:
    tenant, batch_id = detail.get("tenant"), detail.get("batchId")
    if not isinstance(tenant, str) or not isinstance(batch_id, str) or len(tenant) > TENANT_MAX:
        return None
    try:
        return tracker.store.get(BatchKey(tenant, checked_batch_id(batch_id)))
    except (InvalidRequest, UnicodeEncodeError):  # JSON can name half a character, and no tenant has one
        return None
