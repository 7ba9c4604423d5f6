"""Target of a rule on the bus: confirms an ending event, so that the sweep does not send it again."""

from typing import Any

from fanin import names
from fanin.api.events.ending_events import confirm
from functions.metrics.counts import count, measured
from functions.wiring import tracking


@measured
def handler(event: dict[str, Any], _context: Any) -> None:
    confirmed = confirm(event["detail"], tracking.tracker())
    count({names.EVENTS_CONFIRMED: confirmed, names.EVENTS_IGNORED: not confirmed})
