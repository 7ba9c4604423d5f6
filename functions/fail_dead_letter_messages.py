"""Consumer of the user's dead-letter queues: fails the item of each message, so that its batch can end."""

from typing import Any

from fanin.client.consuming.adapter import Adapter
from fanin.client.consuming.records import dead_letter_message_ack
from functions.invocation_metrics.counts import count_settled, measured
from functions.wiring import consuming, tracking


@measured
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    transport = tracking.transport_of(event)
    adapter = Adapter(transport, ack_of=dead_letter_message_ack, hide=tracking.hide, isolate=consuming.park)
    settled = adapter.settle(event)
    count_settled(settled)
    return consuming.keep(event, settled.response())
