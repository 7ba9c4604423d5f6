"""Consumer of the webhooks' queue: posts each event to the webhook that its batch named."""

from typing import Any

from fanin import names
from functions.invocation_metrics import emf
from functions.wiring import webhooks

# Not those of functions with tables, which make a client of DynamoDB.
metrics = emf.Metrics(names.METRICS_NAMESPACE)


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    done = webhooks.deliverer().deliver(event["Records"])
    metrics.add(names.WEBHOOKS_DELIVERED, len(done.delivered))
    metrics.add(names.WEBHOOKS_RETURNED, len(done.returned))
    metrics.add(names.WEBHOOKS_GIVEN_UP, len(done.given_up))
    metrics.flush()
    return done.response()
