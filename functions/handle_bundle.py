"""Consumes the queue of bundle messages: calls the batch API and applies the outcome."""

from typing import Any

from fanin.grouper import BundleMessage, Handled
from fanin.grouper.consuming import consume
from functions.metrics.counts import measured
from functions.metrics.grouping import count_handled
from functions.wiring import grouping
from functions.wiring.starting import at_start

ENOUGH_MS = 60_000
"""The lease of a call, within which a bundle is called and its outcome is stored."""

at_start(grouping.notifier)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    consumed = consume(event["Records"], _handle, lambda: context.get_remaining_time_in_millis() > ENOUGH_MS)
    count_handled(consumed)
    return consumed.response()


def _handle(body: str) -> Handled:
    message = BundleMessage.parse(body)
    return grouping.grouper().handle(message, grouping.downstream(), grouping.notifier())
