"""Target of a rule on the bus: confirms an ending event, so that the sweep does not send it again."""

from typing import Any

from fanin import names
from fanin.api.bus_events.ending_events import confirm
from functions.invocation_metrics.counts import count, measured
from functions.wiring import tracking


@measured
def handler(event: dict[str, Any], _context: Any) -> None:
    confirmed = confirm(event["detail"], tracking.tracker())
    count({names.EVENTS_CONFIRMED: confirmed, names.EVENTS_IGNORED: not confirmed})
