"""Consumes the queue of publications: publishes parts of an object, and sends the message again.

A message of S3 about an object that was created starts its publications.
"""

from typing import Any

from fanin.grouper.use_cases.consuming import consume
from fanin.s3_publications.model import Order
from fanin.s3_publications.parsing import message_of
from fanin.s3_publications.service import StepResult
from functions.invocation_metrics.created import counting_batches
from functions.invocation_metrics.measuring import measured
from functions.wiring import s3_publications

PART_MS = 60_000
"""Milliseconds reserved for a part: to read it, add it, send it and store the place."""


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    def has_time() -> bool:
        remaining: int = context.get_remaining_time_in_millis()
        return remaining > PART_MS

    def go_on(body: str) -> list[StepResult]:
        given = message_of(body)
        publications = s3_publications.publications(counting_batches)
        if isinstance(given, Order):
            return [publications.go_on(given, has_time)]
        return [
            publications.start_created(order, given) for order in s3_publications.orders_of_created(given)
        ]

    return consume(event["Records"], go_on, lambda: True).response()
