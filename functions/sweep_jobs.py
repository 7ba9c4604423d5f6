"""The schedule: free what dead workers held, wake what is due, and tell how full the queues are."""

import logging
from typing import Any

from fanin.calling import log_failure
from functions import queueing
from functions.measuring import measured
from functions.queue_measuring import depths

logger = logging.getLogger("fanin")


@measured
def handler(_event: dict[str, Any], _context: Any) -> None:
    told = []
    trouble: Exception | None = None
    for queue in queueing.every():
        try:
            queue.sweep()
            told.append((queue.key, queue.depth()))
        except Exception as error:  # one queue must not keep those behind it from their sweep
            log_failure(logger, "queue %s is left for the next sweep", queue.key, error=error)
            trouble = trouble or error
    depths(told)
    if trouble is not None:
        raise trouble
