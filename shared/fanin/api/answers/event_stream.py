"""Progress as server-sent events: an answer is one event, after which its reader connects again.

The field ``retry`` is the pause before that, so that no function waits. The event of an ended batch has an
id, which the next request of its reader names in ``Last-Event-ID``; 204 then stops the reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import RootModel

from fanin.api.answers.batch_answers import WatchedBatch

MEDIA_TYPE = "text/event-stream"
JSON = "application/json"
END_ID = "ended"
WEIGHT = re.compile(r"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


class EventStream(RootModel[str]):
    """One server-sent event, `progress` or `ended`, whose data is a WatchedBatch.

    `retry` has the milliseconds until the next request; the event of an ended batch has an id instead.
    """


def is_preferred(accept: str) -> bool:
    """Return whether the header *accept* names event streams, and gives JSON by its name less weight."""
    weights = dict(_weights(accept))
    return weights.get(MEDIA_TYPE, 0.0) > weights.get(JSON, 0.0)


def event_of(batch: WatchedBatch) -> str:
    """Return *batch* as an event."""
    head = f"id: {END_ID}\nevent: ended"
    if batch.retry_after_seconds is not None:
        head = f"retry: {round(1000 * batch.retry_after_seconds)}\nevent: progress"
    return f"{head}\ndata: {batch.model_dump_json(by_alias=True)}\n\n"


def is_seen(batch: WatchedBatch, last_event_id: str | None) -> bool:
    """Return whether the reader, whose last event is named, has seen the end of *batch*."""
    return batch.retry_after_seconds is None and last_event_id == END_ID


def _weights(accept: str) -> Iterator[tuple[str, float]]:
    """Yield each media range with its weight; 0 for a weight that RFC 9110 does not allow."""
    for each in accept.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        weight = next((part for part in parameters if part.startswith("q=")), "q=1")
        allowed = WEIGHT.fullmatch(weight)
        yield name, float(allowed[1]) if allowed else 0.0
