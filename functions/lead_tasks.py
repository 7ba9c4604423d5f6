"""Consumes the queue of task messages: the first invocation to acquire a lane's lease leads the lane."""

from typing import Any

from fanin.aws import clients
from fanin.grouper import LeadResult, TaskMessage
from fanin.grouper.consuming import consume
from functions.metrics.grouping import count_lead_results
from functions.metrics.measuring import measured
from functions.wiring import grouping
from functions.wiring.starting import at_start

ENOUGH_MS = 18_000
"""A leader's term may last as long as its lease, 15 s, and a little more."""
BARELY_MS = 3_000
"""The time that sending a delayed copy takes."""

at_start(clients.sqs)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    left_ms = context.get_remaining_time_in_millis

    def lead(body: str) -> LeadResult:
        message = TaskMessage.parse(body)
        return (
            grouping.grouper().lead(message) if left_ms() > ENOUGH_MS else grouping.grouper().put_off(message)
        )

    consumed = consume(event["Records"], lead, lambda: left_ms() > BARELY_MS)
    count_lead_results(consumed)
    return consumed.response()
