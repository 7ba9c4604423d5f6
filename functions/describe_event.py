"""Enrichment of the Pipe: returns the details of the ending events of stream records."""

from typing import Any

from fanin import names
from fanin.announcing import metrics as announced
from fanin.api.events import ended_states, endings, forced
from functions.metrics.counts import count, count_endings, measured
from functions.wiring import tracking


@measured
def handler(event: list[dict[str, Any]], _context: Any) -> list[dict[str, Any]]:
    details = endings(event, tracking.tracker())
    count_endings(ended_states(event))
    count({names.BATCHES_FORCED: forced(event), announced.EVENTS_SAVED: len(event) - len(details)})
    return details
