"""The scheduled sweep of the work queues that are in use: frees claims, promotes due jobs, emits the metrics.

It visits each sleeping queue in one minute of the day, and deletes rows of queues that are being removed.
"""

import logging
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fanin.calling import log_failure
from fanin.queue.describing import CountedDepth
from fanin.queue.visiting import visit
from functions.metrics.counts import measured
from functions.metrics.queueing import Visited, depths
from functions.wiring import queueing

logger = logging.getLogger("fanin")
LAST_MS = 60_000
"""Time reserved for the queue that is being swept, and for the metrics."""


@measured
def handler(event: Mapping[str, Any], context: Any) -> None:
    found: list[Visited] = []
    first_error: Exception | None = None
    queues = list(queueing.every(_minute(event)))
    random.shuffle(queues)  # so that no queue is always among those that the time does not suffice for
    for done, queue in enumerate(queues):
        if context.get_remaining_time_in_millis() <= LAST_MS:
            logger.warning("%d queues are left for the next sweep", len(queues) - done)
            break
        try:
            depth = visit(queue.context, queueing.doorbells())
            if depth is not None:
                found.append(Visited(queue.key, depth, queue.context.config().metrics))
                queueing.registry().record(queue.key, CountedDepth(depth, queue.context.effects.now()))
        except Exception as error:  # an error of one queue must not stop the sweep of the others
            log_failure(logger, "queue %s is left for the next sweep", queue.key, error=error)
            first_error = first_error or error
    depths(found)
    if first_error is not None:
        raise first_error


def _minute(event: Mapping[str, Any]) -> int:
    """Return the minute of the day for which the schedule sent *event*, however late it is delivered."""
    time = event.get("time")
    at = datetime.fromisoformat(time).astimezone(UTC) if time else datetime.now(UTC)
    return at.hour * 60 + at.minute
