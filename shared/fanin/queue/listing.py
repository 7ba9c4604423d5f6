"""What can be seen of a queue from outside, and bringing back the dead."""

from __future__ import annotations

from fanin.errors import StoreUnavailable
from fanin.queue import lifecycle
from fanin.queue.keys import PartKey
from fanin.queue.model import Dead, Depth, Job, JobState, Ring
from fanin.queue.worker import Place

REVIVE_ATTEMPTS = 8


def jobs(place: Place, state: JobState, limit: int) -> list[Job]:
    """The first jobs in a state over all parts, in the order of the queue."""
    per_part = place.effects.each(lambda part: place.store.jobs(part, state, limit), _parts(place))
    found = [job for part in per_part for job in part]
    return sorted(found, key=lambda job: job.place if state is JobState.BUSY else job.ix or "")[:limit]


def depth(place: Place) -> Depth:
    """How many jobs are in each state, and how long the longest waiting head of a part has waited."""
    parts, store = _parts(place), place.store

    def count(state: JobState) -> int:
        return sum(place.effects.each(lambda part: store.count(part, state), parts))

    heads = [entry for part in parts for entry in store.ready(part, 1)]
    now = place.effects.now()
    return Depth(
        ready=count(JobState.READY),
        busy=count(JobState.BUSY),
        delayed=count(JobState.DELAYED),
        dead=store.count_dead(place.queue),
        oldest_us=max((max(0, now - head.ready_us) for head in heads), default=0),
    )


def revive(place: Place, dead: Dead) -> bool:
    """Bring a dead job back; whether it was this call that did.

    A request that timed out is sent again: the job that it stored names it, and is known by that.
    """
    for attempt in range(REVIVE_ATTEMPTS):
        over = place.store.get(dead.job.key)
        if over is not None and over.is_live:
            return False
        job = lifecycle.revived(dead, place.effects.now(), over, place.effects.new_id())
        stored = _revive(place, dead, job, over)
        if stored is not None and stored.revival == job.revival:
            place.janitor().ring([Ring(job.key.part.number)])
            return True
        if stored == over:
            return False  # nothing moved but the record of this death: it was revived before
        place.effects.pause(attempt)
    raise StoreUnavailable("a key is added from too many sides at once; ask again")


def _revive(place: Place, dead: Dead, job: Job, over: Job | None) -> Job | None:
    return place.effects.insist(lambda: place.store.revive(dead, job, over))


def _parts(place: Place) -> list[PartKey]:
    return [PartKey(place.queue, number) for number in range(place.parts)]
