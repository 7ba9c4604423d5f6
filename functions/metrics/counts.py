"""Metrics of an invocation: collected while it runs, and written to its log when it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from fanin import names
from fanin.client.consumer import Settled
from fanin.tracker import State, Verdict
from functions.metrics import emf
from functions.wiring import tracking

ENDINGS = {
    State.COMPLETE: names.BATCHES_COMPLETED,
    State.CANCELLED: names.BATCHES_CANCELLED,
    State.TIMED_OUT: names.BATCHES_TIMED_OUT,
    State.EXPIRED: names.BATCHES_EXPIRED,
}
ANSWERS = {Verdict.ACCEPTED: names.ACKS_ACCEPTED, Verdict.DUPLICATE: names.ACKS_DUPLICATE}

metrics = emf.Metrics(names.METRICS_NAMESPACE)

Handler = Callable[[Any, Any], Any]


def measured(handler: Handler) -> Handler:
    """Return *handler* with its metrics, write units and failed conditions logged when it ends."""

    @wraps(handler)
    def logged(event: Any, context: Any) -> Any:
        try:
            return handler(event, context)
        finally:
            count(
                {
                    names.WRITE_UNITS: tracking.meter.take("write_units"),
                    names.CONFLICTS: tracking.meter.take("refused"),
                }
            )
            metrics.flush()

    return logged


def count(amounts: Mapping[str, float]) -> None:
    """Add *amounts*, by the names of their metrics, to those of the invocation."""
    for name, amount in amounts.items():
        metrics.add(name, amount)


def count_verdicts(counts: Iterable[tuple[Verdict, int]]) -> None:
    """Count acked items by verdict: accepted, duplicate or refused."""
    totals = Counter({names.ACKS_ACCEPTED: 0, names.ACKS_DUPLICATE: 0, names.ACKS_REFUSED: 0})
    for verdict, items in counts:
        totals[ANSWERS.get(verdict, names.ACKS_REFUSED)] += items
    count(totals)


def count_settled(settled: Settled) -> None:
    """Count the items and the messages of a delivery."""
    count_verdicts((verdict, 1) for _, verdict in settled.acked)
    count({names.ACKS_RETURNED: len(settled.failed), names.ACKS_DROPPED: len(settled.dropped)})


def count_endings(states: Iterable[State]) -> None:
    """Count ended batches by their state."""
    count(Counter(ENDINGS[state] for state in states))


def age(name: str, seconds: float) -> None:
    """Add a duration; dashboards use the maximum of a period."""
    metrics.add(name, seconds, emf.SECONDS)
