"""The Pipe's enrichment: stream records of batches in, details of their ending events out."""

from typing import Any

from fanin.api.events import endings, turned_into
from functions import wiring
from functions.measuring import count_endings, measured


@measured
def handler(event: list[dict[str, Any]], _context: Any) -> list[dict[str, Any]]:
    details = endings(event, wiring.tracker())
    count_endings(turned_into(event))
    return details
