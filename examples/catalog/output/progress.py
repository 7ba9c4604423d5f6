"""Computes and formats the progress of a run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.shared_by_jobs.progress import count

RATE_SECONDS = 15.0
"""Seconds over which the rate is measured."""
WARM_SECONDS = 5.0
"""Seconds after the first ack during which cold starts make the rate meaningless."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of the workers: *deliveries* of messages, *faults* made, *acks*, *repeats* of them.

    *registrations* of tasks, the same task again among them; *jobs* likewise. *write_units* of all that,
    *ack_units* of the acks alone.
    """

    deliveries: int = 0
    faults: int = 0
    acks: int = 0
    repeats: int = 0
    registrations: int = 0
    jobs: int = 0
    write_units: float = 0.0
    ack_units: float = 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of a run *at* some seconds after its batch was opened.

    *bundled*: items that the batch API has done, in so many *calls*. *queued*: items done by jobs. *awaited*:
    once all messages are sent, what is outstanding and why.
    """

    at: float
    acked: int
    waiting: int
    in_hand: int
    counters: Counters
    bundled: int = 0
    calls: int = 0
    queued: int = 0
    awaited: tuple[str, ...] = ()


def rate(samples: Sequence[Sample], window: float = RATE_SECONDS) -> float:
    """Return the acks a second over the last *window* seconds of *samples*."""
    if not samples:
        return 0.0
    last = samples[-1]
    first = next(sample for sample in samples if sample.at >= last.at - window)
    return (last.acked - first.acked) / (last.at - first.at) if last.at > first.at else 0.0


def seconds_left(samples: Sequence[Sample], total: int) -> float | None:
    """Return the seconds until all of *total* are acked at the present rate; None while it is unknown."""
    pace = rate(samples)
    acking = [sample.at for sample in samples if sample.acked]
    is_warm = bool(acking) and samples[-1].at - acking[0] >= WARM_SECONDS
    return (total - samples[-1].acked) / pace if is_warm and pace > 0 else None


def time_left(samples: Sequence[Sample], total: int) -> str:
    """Return ``1:05 left`` for 65 seconds; ``all sent`` once the time no longer depends on the rate."""
    if samples[-1].awaited:
        return "all sent"
    seconds = seconds_left(samples, total)
    if seconds is None:
        return "estimating the time left"
    minutes, seconds_over = divmod(round(seconds), 60)
    return f"{minutes}:{seconds_over:02d} left"


def awaited(sample: Sample, total: int) -> str:
    """Return how many items are not acked, and what they wait for."""
    items = count(total - sample.acked, "item")
    return f"all sent, {items} left; waiting for {', '.join(sample.awaited)}"


def happened(sample: Sample) -> list[str]:
    """Yield clauses on bundled items and on intended faults, each with its separator before it."""
    counters = sample.counters
    bundled = [f"; {sample.bundled:,} in {count(sample.calls, 'call')}"] if sample.calls else []
    queued = [f"; {count(sample.queued, 'job')} done"] if sample.queued else []
    return [
        *bundled,
        *queued,
        f"; {counters.faults:,} failed on purpose",
        f", {counters.repeats:,} acked again",
    ]


def brief(samples: Sequence[Sample], total: int, width: int) -> str:
    """Return the state beside a bar in *width* characters; the least important parts are dropped first."""
    last = samples[-1]
    text = f"{last.acked:,} of {total:,}"
    moving = [f", {rate(samples):,.0f}/s", f", {time_left(samples, total)}", f"; {last.waiting:,} waiting"]
    reasons = [", all sent", *(f"; {reason}" for reason in last.awaited)]
    for clause in reasons if last.awaited else [*moving, *happened(last)]:
        if len(text) + len(clause) > width:
            break
        text += clause
    return text


def line(samples: Sequence[Sample], total: int) -> str:
    """Return the whole state, for output without a bar."""
    last = samples[-1]
    acked = f"acked {last.acked:,} of {total:,} ({last.acked / total:.0%}), {rate(samples):,.0f}/s"
    waiting = f"{last.waiting:,} waiting, {last.in_hand:,} in hand"
    return f"{acked}, {time_left(samples, total)}; {waiting}{''.join(happened(last))}"
