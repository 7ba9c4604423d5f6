"""Consumes the queue of bundle messages: calls the batch API and applies the outcome."""

from datetime import timedelta
from typing import Any

from fanin.grouper import BundleMessage, Handled
from fanin.grouper.use_cases.consuming import consume
from functions.invocation_metrics.grouping import count_handled
from functions.invocation_metrics.measuring import measured
from functions.wiring import calling, grouping

MILLISECOND = timedelta(milliseconds=1)


@measured
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    # Within the lease of a call a bundle is called and its outcome is stored.
    enough_ms = grouping.grouper().world.policies.longest_call_lease / MILLISECOND
    consumed = consume(event["Records"], _handle, lambda: context.get_remaining_time_in_millis() > enough_ms)
    count_handled(consumed)
    return consumed.response()


def _handle(body: str) -> Handled:
    message = BundleMessage.parse(body)
    notifier, on_failed = grouping.notifier(), grouping.on_failed()
    return grouping.grouper().handle(message, calling.downstream(), notifier, on_failed)
