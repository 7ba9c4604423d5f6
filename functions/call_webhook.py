"""Consumer of the webhooks' queue: posts each event to the webhook that its batch named."""

from typing import Any

from fanin import names
from functions.metrics.measuring import count, measured
from functions.wiring import webhooks


@measured
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    done = webhooks.deliverer().deliver(event["Records"])
    count(
        {
            names.WEBHOOKS_DELIVERED: len(done.delivered),
            names.WEBHOOKS_RETURNED: len(done.returned),
            names.WEBHOOKS_GIVEN_UP: len(done.given_up),
        }
    )
    return done.response()
