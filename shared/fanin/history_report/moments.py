"""The labelled times of a batch, and the origin of its chart. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fanin.history_report.facts import ENDED_WELL, BatchFacts
from fanin.history_report.format import seconds, state


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled time of a batch, in seconds since the chart's origin."""

    kind: str
    name: str
    at: float


@dataclass(frozen=True, slots=True)
class Clock:
    """The origin of a batch's chart, and its name."""

    origin: datetime
    name: str
    span: float

    @classmethod
    def of(cls, batch: BatchFacts) -> Clock | None:
        """Return the opening, or the first ack if it was much later; None without acks."""
        first, last = batch.first_ack_at, batch.last_ack_at
        if first is None or last is None:
            return None
        acking = max(batch.step, (last - first).total_seconds())
        before = (first - batch.opened_at).total_seconds() if batch.opened_at else None
        if before is not None and batch.opened_at and 0 <= before <= acking:
            return cls(batch.opened_at, "since the batch was opened", before + acking + batch.step)
        return cls(first, "since the first ack", acking + batch.step)

    def since(self, at: datetime | None) -> float | None:
        return None if at is None else (at - self.origin).total_seconds()

    def label(self, at: float) -> str:
        """Return a label of the time *at*, which may be before the origin."""
        if at >= 0:
            return seconds(at)
        return f"{seconds(-at)} before {self.name.removeprefix('since ')}"


def marks(batch: BatchFacts, clock: Clock) -> list[Mark]:
    """Return the known times of *batch*, in order.

    An event is never before its end: the end is known in milliseconds, the event in seconds, rounded down.
    """
    event_at = batch.event_at and max(batch.event_at, batch.ended_at or batch.event_at)
    well = "complete" if batch.is_complete else "enough"
    ended = ("done", well) if batch.state == ENDED_WELL else ("lost", state(batch.state))
    moments = [
        ("closed", "closed", batch.closed_at),
        ("tail", "99 % acked", batch.tail_at),
        ("last", "last ack", batch.last_ack_at),
        (*ended, batch.ended_at),
        ("event", "event on the bus", event_at),
    ]
    return [Mark(kind, name, since) for kind, name, at in moments if (since := clock.since(at)) is not None]
