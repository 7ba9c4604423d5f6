"""The grouper's queue: every message is a task that wants a bundle, and whoever can leads its lane."""

from typing import Any

from fanin.grouper import TaskMessage, Turn
from fanin.grouper.consuming import consume
from functions.metrics.counts import measured
from functions.metrics.grouping import count_turns
from functions.wiring import grouping

ENOUGH_MS = 18_000
"""A leader's term may last as long as its lease, 15 s."""
BARELY_MS = 3_000
"""To have a message come again."""


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    left_ms = context.get_remaining_time_in_millis

    def turn(body: str) -> Turn:
        message = TaskMessage.parse(body)
        return (
            grouping.grouper().lead(message) if left_ms() > ENOUGH_MS else grouping.grouper().put_off(message)
        )

    consumed = consume(event["Records"], turn, lambda: left_ms() > BARELY_MS)
    count_turns(consumed)
    return consumed.response()
