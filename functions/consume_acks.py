"""The acks queue: every message is an ack, a delivery is one request to the tracker."""

from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from fanin.api.deliveries import Delivery, Settled, settle
from functions import wiring

logger = Logger()
metrics = Metrics()


@metrics.log_metrics
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    settled = settle(wiring.tracker(), wiring.settings().tenant, Delivery.of(event))
    _tell(settled)
    return settled.response()


def _tell(settled: Settled) -> None:
    """Whatever goes back or is dropped leaves a line and a count."""
    metrics.add_metric("AcksFailed", MetricUnit.Count, len(settled.failed))
    metrics.add_metric("AcksDropped", MetricUnit.Count, len(settled.dropped))
    if settled.failed:
        reason = "malformed" if settled.report else "the store is unavailable"
        logger.warning("messages go back", extra={"reason": reason, "message_ids": settled.failed})
    for result in settled.dropped:
        ack = result.ack
        logger.warning(
            "ack dropped: no such item",
            extra={"message_id": ack.caller, "batch_id": ack.batch_id, "verdict": result.verdict},
        )
