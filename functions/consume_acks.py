"""The acks queue: every message is an ack, and a delivery of them is one request to the tracker."""

from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from fanin.api.messages import acked_item
from fanin.client.consumer import Consumer
from functions import wiring

metrics = Metrics(namespace="fanin")


@metrics.log_metrics
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    settled = Consumer(wiring.transport(), item_id=acked_item).settle(event)
    metrics.add_metric("AcksReturned", MetricUnit.Count, len(settled.failed))
    metrics.add_metric("AcksDropped", MetricUnit.Count, len(settled.dropped))
    return settled.response()
