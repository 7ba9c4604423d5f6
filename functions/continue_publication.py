"""Consumes the queue of publications: publishes parts of an object, and sends the message again."""

from typing import Any

from fanin.grouper.use_cases.consuming import consume
from fanin.publications.model import Order
from fanin.publications.service import Went
from functions.metrics.measuring import measured
from functions.wiring import publishing

PART_MS = 60_000
"""Milliseconds reserved for a part: to read it, add it, send it and store the place."""


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    def has_time() -> bool:
        remaining: int = context.get_remaining_time_in_millis()
        return remaining > PART_MS

    def go_on(body: str) -> Went:
        order = Order.parse(body)
        publishing.check(order)
        return publishing.publications().go_on(order, has_time)

    return consume(event["Records"], go_on, lambda: True).response()
