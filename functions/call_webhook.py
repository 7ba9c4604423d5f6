"""Consumer of the webhooks' queue: posts each event to the webhook that its batch named."""

from typing import Any

from fanin import names
from functions.invocation_metrics import emf
from functions.wiring import webhooks

# Not those of functions with tables, which make a client of DynamoDB.
metrics = emf.Metrics(names.METRICS_NAMESPACE)


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    response = webhooks.deliverer().deliver(event["Records"])
    metrics.add(names.WEBHOOKS_DELIVERED, len(response.delivered))
    metrics.add(names.WEBHOOKS_RETURNED, len(response.returned))
    metrics.add(names.WEBHOOKS_GIVEN_UP, len(response.given_up))
    metrics.flush()
    return response.response()
