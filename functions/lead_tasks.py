"""The grouper's queue: every message is a task that wants a bundle, and whoever can leads its lane."""

from typing import Any

from fanin.grouper import TaskMessage, Turn
from fanin.grouper.consuming import consume
from functions import grouping
from functions.group_measuring import count_turns
from functions.measuring import measured

ENOUGH_MS = 18_000
"""A leader's term may last as long as its lease, 15 s."""


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    consumed = consume(event["Records"], _lead, lambda: context.get_remaining_time_in_millis() > ENOUGH_MS)
    count_turns(consumed)
    return consumed.response()


def _lead(body: str) -> Turn:
    return grouping.grouper().lead(TaskMessage.parse(body))
