"""A dead-letter queue of the user's: every message is an item that failed, so that its batch can end."""

from typing import Any

from fanin.client.consumer import Consumer, failed_letter
from functions import wiring
from functions.measuring import count_settled, measured


@measured
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    settled = Consumer(wiring.transport(), ack_of=failed_letter).settle(event)
    count_settled(settled)
    return settled.response()
