"""Metrics of the work queues: each queue's, and the totals."""

from __future__ import annotations

from collections.abc import Sequence

from fanin import names
from fanin.queue import Depth, QueueKey
from fanin.queue.model import SECOND_US
from functions.metrics import emf
from functions.metrics.measuring import age, count

FACTS = {
    names.JOBS_QUEUED: "ready",
    names.JOBS_IN_PROGRESS: "busy",
    names.JOBS_DELAYED: "delayed",
    names.JOBS_DEAD: "dead",
}


def depths(found: Sequence[tuple[QueueKey, Depth]]) -> None:
    """Emit the jobs by state and the age of the oldest ready job, for each queue and in total."""
    for queue, depth in found:
        _emit(queue, depth)
    count({name: sum(getattr(depth, fact) for _, depth in found) for name, fact in FACTS.items()})
    age(names.OLDEST_JOB_SECONDS, max((depth.oldest_us for _, depth in found), default=0) / SECOND_US)


def _emit(queue: QueueKey, depth: Depth) -> None:
    metrics = emf.Metrics(names.METRICS_NAMESPACE, tenant=queue.tenant, queue=queue.name)
    for name, fact in FACTS.items():
        metrics.add(name, getattr(depth, fact))
    metrics.add(names.OLDEST_JOB_SECONDS, depth.oldest_us / SECOND_US, emf.SECONDS)
    metrics.flush()
