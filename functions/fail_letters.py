"""Consumer of the user's dead-letter queues: fails the item of each message, so that its batch can end."""

from typing import Any

from fanin.client.adapter import Adapter
from fanin.client.records import dead_letter_message_ack
from functions.metrics.counts import count_settled, measured
from functions.wiring import consuming, tracking


@measured
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    transport = tracking.transport_of(event)
    settled = Adapter(transport, ack_of=dead_letter_message_ack, hide=tracking.hide).settle(event)
    count_settled(settled)
    return consuming.keep(event, settled.response())
