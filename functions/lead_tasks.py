"""Consumes the queue of task messages: the first invocation to acquire a lane's lease leads the lane."""

from datetime import timedelta
from typing import Any

from fanin.aws import clients
from fanin.grouper import LeadResult, TaskMessage
from fanin.grouper.use_cases.consuming import consume
from functions.invocation_metrics.grouping import count_lead_results
from functions.invocation_metrics.measuring import measured
from functions.wiring import grouping
from functions.wiring.starting import at_start

MORE_MS = 3_000
"""The time of a leader beside its lease."""
BARELY_MS = 3_000
"""The time that sending a delayed copy takes."""
MILLISECOND = timedelta(milliseconds=1)

at_start(clients.sqs)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    left_ms = context.get_remaining_time_in_millis
    grouper = grouping.grouper()
    enough_ms = grouper.world.policies.longest_lease / MILLISECOND + MORE_MS

    def lead(body: str) -> LeadResult:
        message = TaskMessage.parse(body)
        return grouper.lead(message) if left_ms() > enough_ms else grouper.put_off(message)

    consumed = consume(event["Records"], lead, lambda: left_ms() > BARELY_MS)
    count_lead_results(consumed)
    return consumed.response()
