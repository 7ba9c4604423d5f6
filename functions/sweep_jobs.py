"""The schedule: free what dead workers held, wake what is due, and tell how full the queues are."""

from typing import Any

from functions import queueing
from functions.measuring import measured
from functions.queue_measuring import depths


@measured
def handler(_event: dict[str, Any], _context: Any) -> None:
    told = []
    for queue in queueing.every():
        queue.sweep()
        told.append((queue.key, queue.depth()))
    depths(told)
