"""A rule's target on the bus: the ending event has arrived, so nobody needs to send it again."""

from typing import Any

from fanin.api.events import confirm
from functions import wiring
from functions.measuring import count, measured


@measured
def handler(event: dict[str, Any], _context: Any) -> None:
    confirmed = confirm(event["detail"], wiring.tracker())
    count(EventsConfirmed=confirmed, EventsIgnored=not confirmed)
