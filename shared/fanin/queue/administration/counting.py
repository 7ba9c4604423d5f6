"""Counts the jobs of a queue with a bounded number of reads.

The part of a job follows from the hash of its key, so that the parts are samples of the queue. Where not all
of them can be counted, the number is extrapolated from those that were: of N jobs in P parts, of which m were
counted, the estimate has a standard deviation of sqrt(N (P - m) / m), at most 2 % beyond COUNTED_MAX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from fanin.queue.context import QueueContext
from fanin.queue.rules.model import Accuracy, Depth, JobState, PartLook

COUNTED_MAX = 5000
"""The most jobs that are counted of one state."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of jobs, and how it was found."""

    jobs: int
    accuracy: Accuracy


def depth_of(context: QueueContext, looks: Sequence[PartLook], known_dead: int | None = None) -> Depth:
    """Return the depth of a queue whose parts are *looks*, in order; parts with many jobs are counted.

    *known_dead*: the number of dead jobs; None counts them.
    """
    ready, busy, delayed = (
        _of_state(context, looks, state) for state in (JobState.READY, JobState.BUSY, JobState.DELAYED)
    )
    dead = _dead(context) if known_dead is None else Estimate(known_dead, Accuracy.EXACT)
    now = context.effects.now()
    heads = [each.head for each in looks if each.head is not None]
    return Depth(
        ready=ready.jobs,
        busy=busy.jobs,
        delayed=delayed.jobs,
        dead=dead.jobs,
        oldest_us=max((max(0, now - head.ready_us) for head in heads), default=0),
        accuracy=_worst(each.accuracy for each in (ready, busy, delayed, dead)),
    )


def estimate(counts: Sequence[Callable[[int], int]], *, even: bool = True) -> Estimate:
    """Return the sum of *counts*, one for each part, each of which counts up to a limit.

    Once COUNTED_MAX are counted, it is extrapolated from the parts that were counted whole; where the first
    part alone has more, the number of jobs is at least COUNTED_MAX in each part. Where the jobs are not
    *even* over the parts, because these are being raised, there are at least as many as were counted.
    """
    counted = 0
    for whole, count in enumerate(counts):
        remaining = COUNTED_MAX - counted
        found = count(remaining + 1)
        if found > remaining:
            if not even:
                return Estimate(COUNTED_MAX, Accuracy.AT_LEAST)
            if whole == 0:
                return Estimate(COUNTED_MAX * len(counts), Accuracy.AT_LEAST)
            return Estimate(round(counted * len(counts) / whole), Accuracy.APPROXIMATE)
        counted += found
    return Estimate(counted, Accuracy.EXACT)


def _of_state(context: QueueContext, looks: Sequence[PartLook], state: JobState) -> Estimate:
    def count_in(number: int, seen: PartLook) -> Callable[[int], int]:
        def count(limit: int) -> int:
            if seen.complete:
                return sum(entry.state is state for entry in seen.first)
            return context.store.count(context.part(number), state, limit)

        return count

    counts = [count_in(number, seen) for number, seen in enumerate(looks)]
    return estimate(counts, even=context.config().before is None)


def _dead(context: QueueContext) -> Estimate:
    counts = [partial(context.store.count_dead, part) for part in context.parts()]
    return estimate(counts, even=context.config().before is None)


def _worst(found: Iterable[Accuracy]) -> Accuracy:
    return max(found, key=list(Accuracy).index)
