"""The demo's work queue: every message is a catalog record to check and index, and an item to ack."""

from typing import Any

from functions.demo import wiring


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return wiring.worker().work(event)
