"""The metrics of the tracker: verdicts of acks, settled messages, and ended batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fanin import names
from fanin.completion_events import metrics as announced
from fanin.tracker import State, Verdict
from functions.invocation_metrics.measuring import age, count, measured

if TYPE_CHECKING:
    from fanin.client.consuming.settling import Settled

__all__ = [
    "age",
    "count",
    "count_endings",
    "count_put_at_once",
    "count_settled",
    "count_verdicts",
    "measured",
]

ENDINGS = {
    State.COMPLETE: names.BATCHES_COMPLETED,
    State.FAILED: names.BATCHES_FAILED,
    State.CANCELLED: names.BATCHES_CANCELLED,
    State.TIMED_OUT: names.BATCHES_TIMED_OUT,
    State.EXPIRED: names.BATCHES_EXPIRED,
}
ANSWERS = {Verdict.ACCEPTED: names.ACKS_ACCEPTED, Verdict.DUPLICATE: names.ACKS_DUPLICATE}


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


def count_put_at_once(is_put: bool) -> None:
    """Count a completion whose event was put on the bus at once, or is left to the stream."""
    count({announced.EVENTS_AT_ONCE: is_put, announced.EVENTS_LEFT: not is_put})


def count_endings(states: Iterable[State]) -> None:
    """Count ended batches by their state."""
    count(Counter(ENDINGS[state] for state in states))
