"""The Pipe's enrichment: stream records of batches in, details of their ending events out."""

from typing import Any

from fanin.api.events import endings, turned_into
from functions.metrics.counts import count_endings, measured
from functions.wiring import tracking


@measured
def handler(event: list[dict[str, Any]], _context: Any) -> list[dict[str, Any]]:
    details = endings(event, tracking.tracker())
    count_endings(turned_into(event))
    return details
