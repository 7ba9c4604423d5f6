"""Metrics of the work queues: the totals, and those of each queue whose config asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fanin import names
from fanin.queue import Depth, QueueKey
from fanin.queue.rules.model import SECOND_US
from functions.invocation_metrics import emf
from functions.invocation_metrics.measuring import age, count

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
    metrics = emf.Metrics(names.METRICS_NAMESPACE, tenant=queue.tenant, queue=queue.name)
    for name, fact in FACTS.items():
        metrics.add(name, getattr(depth, fact))
    metrics.add(names.OLDEST_JOB_SECONDS, depth.oldest_us / SECOND_US, emf.SECONDS)
    metrics.flush()
