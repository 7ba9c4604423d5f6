"""Consumer of the stream of the table of batches: puts the event of each batch that ended on the bus."""

import os
from typing import Any

from fanin import names
from fanin.api.bus_events.ending_events import ended_states, forced, publish_endings
from fanin.aws import clients
from fanin.aws.messaging.bus import Bus
from fanin.completion_events import metrics as announced
from functions.invocation_metrics.counts import count, count_endings, measured
from functions.wiring import tracking
from functions.wiring.starting import at_start

at_start(clients.events)


@measured
def handler(event: dict[str, Any], _context: Any) -> None:
    records = event["Records"]
    bus = Bus(clients.events(), os.environ["FANIN_BUS_NAME"])
    put = publish_endings(records, tracking.tracker(), bus)
    count_endings(ended_states(records))
    count({names.BATCHES_FORCED: forced(records), announced.EVENTS_SAVED: len(records) - put})
