"""Consumer of the acks queue: acks the items of a delivery in one request to the tracker."""

from typing import Any

from fanin.api.messages import ack_of
from fanin.client.consuming.adapter import Adapter
from functions.invocation_metrics.counts import count_settled, measured
from functions.wiring import consuming, tracking


@measured
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    adapter = Adapter(tracking.acks_transport(), ack_of=ack_of, hide=tracking.hide, isolate=consuming.isolate)
    settled = adapter.settle(event)
    count_settled(settled)
    return settled.response()
