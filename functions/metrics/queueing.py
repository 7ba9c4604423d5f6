"""Metrics of the work queues: the totals, and those of each queue whose config asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from fanin import names
from fanin.queue import Depth, QueueKey
from fanin.queue.model import SECOND_US
from functions.metrics.counts import age, count

FACTS = {
    names.JOBS_QUEUED: "ready",
    names.JOBS_IN_PROGRESS: "busy",
    names.JOBS_DELAYED: "delayed",
    names.JOBS_DEAD: "dead",
}


@dataclass(frozen=True, slots=True)
class Visited:
    """A queue that a sweep visited; *has_metrics*: whether metrics of the queue itself are emitted."""

    queue: QueueKey
    depth: Depth
    has_metrics: bool


def depths(found: Sequence[Visited]) -> None:
    """Emit the jobs by state and the age of the oldest ready job: in total, and for each queue that asks."""
    for each in found:
        if each.has_metrics:
            _emit(each.queue, each.depth)
    count({name: sum(getattr(each.depth, fact) for each in found) for name, fact in FACTS.items()})
    age(names.OLDEST_JOB_SECONDS, max((each.depth.oldest_us for each in found), default=0) / SECOND_US)


def _emit(queue: QueueKey, depth: Depth) -> None:
    metrics = EphemeralMetrics(namespace=names.METRICS_NAMESPACE)
    metrics.add_dimension("tenant", queue.tenant)
    metrics.add_dimension("queue", queue.name)
    for name, fact in FACTS.items():
        metrics.add_metric(name, MetricUnit.Count, getattr(depth, fact))
    metrics.add_metric(names.OLDEST_JOB_SECONDS, MetricUnit.Seconds, depth.oldest_us / SECOND_US)
    metrics.flush_metrics()
