"""The records of an SQS event, and when a consumer isolates one: sends it to the dead-letter queue."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from fanin.errors import InvalidRequest

TRIES = 5
"""The receive of an invalid message at which it is isolated."""
SHOWN = 10
"""The message ids in a log line, at most."""
Record = dict[str, Any]
"""A message of a delivery, as Lambda passes it: ``messageId``, ``body``, ``attributes``..."""
Isolate = Callable[[Sequence[Record]], Collection[str]]
"""Sends messages to the dead-letter queue of their queue; returns the ids of those that were sent."""
logger = logging.getLogger("fanin")


AS_RECEIVE_MESSAGE_RETURNS_IT = (
    "has MessageId, Body and Attributes, as receive_message returns it, and not messageId, body and"
    " attributes, as Lambda passes it: rename them (docs/consumers.md, Outside Lambda)"
)


def records_of(event: Any) -> Sequence[Record]:
    """Return the records of an SQS event, as Lambda passes it. Raises InvalidRequest for any other value."""
    records = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(records, list | tuple):
        raise InvalidRequest(
            'an event of SQS is {"Records": [...]}, as Lambda passes it: is SQS the event source?',
            field="Records",
        )
    for number, record in enumerate(records):
        if flaw := _flaw(record):
            raise InvalidRequest(f"record {number} {flaw}", field="Records")
    return records


def _flaw(record: Any) -> str | None:
    """Return what is wrong with a record; None if nothing is."""
    if not isinstance(record, Mapping):
        return "is no object"
    if "messageId" not in record and "MessageId" in record:
        return AS_RECEIVE_MESSAGE_RETURNS_IT
    for name in ("messageId", "body"):
        if not isinstance(record.get(name), str):
            return f"has no text as its {name}: is SQS the event source of this function?"
    attributes = record.get("attributes") or {}
    count = attributes.get("ApproximateReceiveCount", 1) if isinstance(attributes, Mapping) else None
    return None if str(count).isdecimal() else "has attributes without a number as ApproximateReceiveCount"


def receives(record: Record) -> int:
    """Return how often the message was received, this time included; 1 if the record does not have it."""
    return int((record.get("attributes") or {}).get("ApproximateReceiveCount", 1))


def isolated(invalid: Sequence[Record], isolate: Isolate | None) -> frozenset[str]:
    """Isolate those of *invalid* that were received ``TRIES`` times or more; return the ids of those sent.

    The others return to their queue; so do all without *isolate*.
    """
    often = [record for record in invalid if receives(record) >= TRIES]
    if isolate is None or not often:
        return frozenset()
    sent = frozenset(isolate(often))
    facts = {"count": len(sent), "isolated": sorted(sent)[:SHOWN]}
    logger.warning("%d invalid messages were sent to the dead-letter queue", len(sent), extra=facts)
    return sent
