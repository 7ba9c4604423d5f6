"""The scheduled sweep of all work queues: frees claims, promotes due jobs, and emits the metrics."""

import logging
import random
from typing import Any

from fanin.calling import log_failure
from functions.metrics.counts import measured
from functions.metrics.queueing import depths
from functions.wiring import queueing

logger = logging.getLogger("fanin")
LAST_MS = 60_000
"""Time reserved for the queue that is being swept, and for the metrics."""


@measured
def handler(_event: dict[str, Any], context: Any) -> None:
    found = []
    first_error: Exception | None = None
    queues = list(queueing.every())
    random.shuffle(queues)  # so that no queue is always among those that the time does not suffice for
    for done, queue in enumerate(queues):
        if context.get_remaining_time_in_millis() <= LAST_MS:
            logger.warning("%d queues are left for the next sweep", len(queues) - done)
            break
        try:
            queue.sweep()
            found.append((queue.key, queue.depth()))
        except Exception as error:  # an error of one queue must not stop the sweep of the others
            log_failure(logger, "queue %s is left for the next sweep", queue.key, error=error)
            first_error = first_error or error
    depths(found)
    if first_error is not None:
        raise first_error
