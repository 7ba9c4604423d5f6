"""When a consumer isolates a message: sends it to the dead-letter queue of its queue, and deletes it here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

TRIES = 5
"""The receive of an invalid message at which it is isolated."""
SHOWN = 10
"""The message ids in a log line, at most."""
Record = Mapping[str, Any]
"""A message of a delivery, as Lambda passes it."""
Isolate = Callable[[Sequence[Record]], Collection[str]]
"""Sends messages to the dead-letter queue of their queue; returns the ids of those that were sent."""
logger = logging.getLogger("fanin")


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
