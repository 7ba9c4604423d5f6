"""Numbers of an invocation, as lines of the log that CloudWatch reads as metrics (EMF)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from fanin.client.consumer import Settled
from fanin.tracker import State, Verdict
from functions.wiring import tracking

ENDINGS = {
    State.COMPLETE: "BatchesCompleted",
    State.CANCELLED: "BatchesCancelled",
    State.TIMED_OUT: "BatchesTimedOut",
    State.EXPIRED: "BatchesExpired",
}
ANSWERS = {Verdict.ACCEPTED: "AcksAccepted", Verdict.DUPLICATE: "AcksDuplicate"}

metrics = Metrics(namespace="fanin")

Handler = Callable[[Any, Any], Any]


def measured(handler: Handler) -> Handler:
    """*handler* with its counts told when it ends, and what it wrote: units, and conditions that failed."""

    @wraps(handler)
    def told(event: Any, context: Any) -> Any:
        try:
            return handler(event, context)
        finally:
            count(WriteUnits=tracking.meter.take("write_units"), Conflicts=tracking.meter.take("refused"))

    return metrics.log_metrics(told)


def count(**amounts: float) -> None:
    """Add to the invocation's counts."""
    for name, amount in amounts.items():
        metrics.add_metric(name, MetricUnit.Count, amount)


def count_verdicts(counts: Iterable[tuple[Verdict, int]]) -> None:
    """What became of acked items: accepted, acked before, or refused."""
    totals = Counter({"AcksAccepted": 0, "AcksDuplicate": 0, "AcksRefused": 0})
    for verdict, items in counts:
        totals[ANSWERS.get(verdict, "AcksRefused")] += items
    count(**totals)


def count_settled(settled: Settled) -> None:
    """A delivery of acks: what became of the items, and of the messages."""
    count_verdicts((verdict, 1) for _, verdict in settled.acked)
    count(AcksReturned=len(settled.failed), AcksDropped=len(settled.dropped))


def count_endings(states: Iterable[State]) -> None:
    """How batches ended."""
    count(**Counter(ENDINGS[state] for state in states))


def age(name: str, seconds: float) -> None:
    """A length of time; the longest of a period is what counts."""
    metrics.add_metric(name, MetricUnit.Seconds, seconds)
