"""Runs every minute: sends the messages of overdue tasks and bundles again."""

from typing import Any

from fanin import names
from functions.invocation_metrics.measuring import count, measured
from functions.wiring import grouping

LAST_MS = 60_000
"""Time that is left for sending the messages of rows already read."""


@measured
def handler(_event: dict[str, Any], context: Any) -> None:
    swept = grouping.grouper().sweep(lambda: context.get_remaining_time_in_millis() > LAST_MS)
    count({names.LANES_WOKEN: swept.lanes, names.BUNDLES_WOKEN: swept.bundles})
