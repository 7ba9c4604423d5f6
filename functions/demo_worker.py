"""The demo's consumer: every message has a catalog record to index and an item to ack."""

from typing import Any

from functions.demo import wiring
from functions.metrics.measuring import measured


@measured
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return wiring.worker().work(event)
