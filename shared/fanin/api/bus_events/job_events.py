"""The events of dead jobs, made from the stream records of the rows that their ends store."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fanin.aws.messaging.bus import Bus, Event
from fanin.instants import instant
from fanin.names import JOB_DEAD
from fanin.queue.dynamodb.items import dead_of, part_beside
from fanin.queue.rules.model import Dead
from fanin.queue.rules.row_texts import dead_id_of
from fanin.user_functions import log_failure

logger = logging.getLogger("fanin")
Record = Mapping[str, Any]


def publish_dead_jobs(records: Sequence[Record], bus: Bus) -> str | None:
    """Put the event of each dead job in stream *records* on the bus, up to the first unreadable record.

    Returns the sequence number of that record, from which the stream is to be retried; None if there is
    none. Raises StoreUnavailable if an event may be missing; the delivery may be repeated.
    """
    events, unreadable = _events(records)
    if events:
        bus.put(events)
    return None if unreadable is None else str(unreadable["dynamodb"]["SequenceNumber"])


def _events(records: Sequence[Record]) -> tuple[list[Event], Record | None]:
    """Return the events of the records before the first that cannot be read, and that record."""
    events: list[Event] = []
    for record in records:
        try:
            events.append(Event(JOB_DEAD, detail(_dead(record["dynamodb"]["NewImage"]))))
        except Exception as error:  # one row must not keep the events of those before it
            log_failure(logger, "the row of a dead job cannot be read", error=error)
            return events, record
    return events, None


def _dead(image: Mapping[str, Any]) -> Dead:
    return dead_of(dict(image), part_beside(image["pk"]["S"]))


def detail(dead: Dead) -> dict[str, Any]:
    """Return the event's detail of a dead job; a revived job that dies again has another ``eventId``."""
    job, queue = dead.job, dead.job.key.part.queue
    return {
        "eventId": f"{job.claim}:DEAD",
        "tenant": queue.tenant,
        "queue": queue.name,
        "key": job.name,
        "jobId": job.id,
        "deadId": dead_id_of((job.key.part.number, dead.record)),
        "error": dead.error,
        "failures": job.failures,
        "deliveries": job.deliveries,
        "addedAt": instant(job.added_us),
        "diedAt": instant(dead.died_us),
        "itemId": job.item_id,
    }
