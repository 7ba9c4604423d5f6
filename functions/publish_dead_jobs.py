"""Consumer of the stream of the work queues' table: puts an event on the bus for each job that died."""

import os
from typing import Any

from fanin.api.bus_events import job_events
from fanin.aws import clients
from fanin.aws.messaging.bus import Bus
from functions.wiring.starting import at_start

at_start(clients.events)


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    bus = Bus(clients.events(), os.environ["FANIN_BUS_NAME"])
    unreadable = job_events.publish_dead_jobs(event["Records"], bus)
    # Lambda retries from this record on, bisects the batch, and sends the record to its failure destination.
    return {"batchItemFailures": [] if unreadable is None else [{"itemIdentifier": unreadable}]}
