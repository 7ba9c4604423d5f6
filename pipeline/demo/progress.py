"""How far a run is, in numbers and in a line. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

RATE_SECONDS = 15.0
"""The rate is that of the last so many seconds."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What the workers counted: *deliveries* of messages, *faults* made, *repeats* of acks, write units.

    *ack_units* are those of the acks alone, None where the worker does not tell them apart.
    """

    deliveries: int = 0
    faults: int = 0
    repeats: int = 0
    write_units: float = 0.0
    ack_units: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """How a run stood *at* some seconds after its batch was opened."""

    at: float
    acked: int
    waiting: int
    in_hand: int
    counters: Counters


def rate(samples: Sequence[Sample], window: float = RATE_SECONDS) -> float:
    """Acks a second over the last *window* seconds of *samples*."""
    if not samples:
        return 0.0
    last = samples[-1]
    first = next(sample for sample in samples if sample.at >= last.at - window)
    return (last.acked - first.acked) / (last.at - first.at) if last.at > first.at else 0.0


def seconds_left(samples: Sequence[Sample], total: int) -> float | None:
    """Seconds until the rest of *total* is acked at the present rate; None while nothing moves."""
    pace = rate(samples)
    return (total - samples[-1].acked) / pace if pace > 0 else None


def duration(seconds: float | None) -> str:
    """``1:05`` for 65 seconds; ``-:--`` where nobody knows."""
    if seconds is None:
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


def chaos(counters: Counters) -> str:
    """What went wrong on purpose so far."""
    return f"{counters.faults:,} failed on purpose, {counters.repeats:,} acked again"


def line(samples: Sequence[Sample], total: int) -> str:
    """The whole state, for where no bar can be drawn."""
    last = samples[-1]
    return (
        f"acked {last.acked:,} of {total:,} ({last.acked / total:.0%}), {rate(samples):,.0f}/s, "
        f"{duration(seconds_left(samples, total))} left; {last.waiting:,} waiting, {last.in_hand:,} in hand; "
        f"{chaos(last.counters)}"
    )
