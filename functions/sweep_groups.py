"""The schedule: wake the tasks and bundles that nobody works on."""

from typing import Any

from functions.metrics.counts import count, measured
from functions.wiring import grouping

LAST_MS = 60_000
"""Kept to wake what was read."""


@measured
def handler(_event: dict[str, Any], context: Any) -> None:
    swept = grouping.grouper().sweep(lambda: context.get_remaining_time_in_millis() > LAST_MS)
    count(LanesWoken=swept.lanes, BundlesWoken=swept.bundles)
