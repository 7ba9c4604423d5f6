"""The schedule: free what dead workers held, wake what is due, and tell how full the queues are."""

import logging
import random
from typing import Any

from fanin.calling import log_failure
from functions.metrics.counts import measured
from functions.metrics.queueing import depths
from functions.wiring import queueing

logger = logging.getLogger("fanin")
LAST_MS = 60_000
"""Kept for the queue that was begun last, and to measure."""


@measured
def handler(_event: dict[str, Any], context: Any) -> None:
    told = []
    trouble: Exception | None = None
    queues = list(queueing.every())
    random.shuffle(queues)  # so that no queue is always among those that there is no time for
    for done, queue in enumerate(queues):
        if context.get_remaining_time_in_millis() <= LAST_MS:
            logger.warning("%d queues are left for the next sweep", len(queues) - done)
            break
        try:
            queue.sweep()
            told.append((queue.key, queue.depth()))
        except Exception as error:  # one queue must not keep those behind it from their sweep
            log_failure(logger, "queue %s is left for the next sweep", queue.key, error=error)
            trouble = trouble or error
    depths(told)
    if trouble is not None:
        raise trouble
