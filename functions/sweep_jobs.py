"""The scheduled sweep of the work queues that are in use: frees claims, promotes due jobs, emits the metrics.

It visits each idle queue every five minutes and each sleeping one in one minute of the day, and deletes rows
of queues that are being removed. In that minute it also gives the doorbell of each queue the key and the tags
of the stack, which may have changed since it was made.
"""

import logging
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fanin.queue import Effects, QueueKey
from fanin.queue.maintenance.rounds import Listed, Rounds
from fanin.queue.maintenance.visiting import visit
from fanin.queue.rules.keys import DAY_MINUTES, visit_minute
from fanin.user_functions import log_failure
from functions.invocation_metrics.counts import measured
from functions.invocation_metrics.queueing import Visited, depths
from functions.wiring import queueing

logger = logging.getLogger("fanin")
LAST_MS = 60_000
"""Time reserved for the queue that is being swept, and for the metrics."""
IDLE_RUNS = 5
"""So many runs visit an idle queue once."""


@measured
def handler(event: Mapping[str, Any], context: Any) -> None:
    registry = queueing.registry()
    listed = registry.last_visits(queueing.names(_minute(event)))
    found = _counted(listed)
    first_error: Exception | None = None
    effects = Effects()
    rounds = Rounds(registry.last_visits, effects.now, effects.monotonic, random.random)
    for each in rounds.of(listed):
        if context.get_remaining_time_in_millis() <= LAST_MS:
            logger.warning(
                "queues wait for the next sweep: docs/operations_reference.md#the-load-of-the-sweeps"
            )
            break
        try:
            found |= _visited(each, event)
        except Exception as error:  # an error of one queue must not stop the sweep of the others
            log_failure(logger, "queue %s is left for the next sweep", each.queue, error=error)
            first_error = first_error or error
    depths(list(found.values()))
    if first_error is not None:
        raise first_error


def _counted(listed: Sequence[Listed]) -> dict[QueueKey, Visited]:
    """Return what the last visits counted, for the queues that this run leaves out."""
    return {
        each.queue: Visited(each.queue, each.counted.depth, each.config.metrics)
        for each in listed
        if each.config is not None and each.counted is not None
    }


def _visited(listed: Listed, event: Mapping[str, Any]) -> dict[QueueKey, Visited]:
    """Visit a queue and keep what it counted; return it, or nothing for a queue without jobs to count."""
    queue = queueing.swept(listed.queue)
    now = queue.context.effects.now
    dead = listed.known_dead(now())
    depth = visit(queue.context, queueing.doorbells(), known_dead=dead)
    if depth is None:
        return {}
    queueing.registry().record(queue.key, listed.visited(depth, dead, now()))
    config = queue.context.config()
    if config.doorbell is not None and _is_the_days_visit(queue.key, event):
        queueing.doorbells().update(queue.key, config.doorbell)
    return {queue.key: Visited(queue.key, depth, config.metrics)}


def _is_the_days_visit(queue: QueueKey, event: Mapping[str, Any]) -> bool:
    """Return whether the schedule's *event* is for the minute of *queue*, or for one of the next four."""
    return "time" in event and (_minute(event) - visit_minute(queue)) % DAY_MINUTES < IDLE_RUNS


def _minute(event: Mapping[str, Any]) -> int:
    """Return the minute of the day for which the schedule sent *event*, however late it is delivered."""
    sent_for = event.get("time")
    at = datetime.fromisoformat(sent_for).astimezone(UTC) if sent_for else datetime.now(UTC)
    return at.hour * 60 + at.minute
