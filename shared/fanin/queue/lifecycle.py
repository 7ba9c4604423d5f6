"""The life of a job as values: each function gives the job after one event, and says when it may happen."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from fanin.queue.keys import JobKey
from fanin.queue.model import Dead, Entry, GivenBack, Job, JobState, NewJob, Rerun, Telling


class Fate(Enum):
    """What is known of a claim from the job as it is stored now."""

    HELD = "the claim holds"
    ENDED = "the claim ended the job"
    LOST = "the claim is gone and ended nothing"
    UNKNOWN = "the key has had other jobs since"


def born(wish: NewJob, key: JobKey, job_id: str, now: int, over: Job | None) -> Job:
    """The job that an add stores, after the one that is *over* where there was one."""
    due = now + round(wish.delay * 1_000_000)
    return Job(
        key=key,
        name=wish.key,
        id=job_id,
        state=JobState.DELAYED if wish.delay else JobState.READY,
        priority=wish.priority,
        added_us=now,
        ready_us=due,
        payload=wish.payload,
        item_id=wish.item_id,
        generation=over.generation + 1 if over else 1,
        done_by=over.done_by if over else None,
    )


def telling(job: Job, dead: Dead | None) -> Telling | None:
    """What the outside is to be told when the busy job ends."""
    if job.item_id is None:
        return None
    reason = dead.error if dead else None
    return Telling(job.id, job.item_id, failed=dead is not None, reason=reason, ending=job.ending)


def may_be_added(stored: Job | None, over: Job | None) -> bool:
    """An add needs an empty place, or the very job that it saw done: a copy that comes late finds neither."""
    if over is None:
        return stored is None
    return stored is not None and not stored.is_live and stored.generation == over.generation


def may_be_claimed(stored: Job | None, seen: Entry) -> bool:
    """Deliveries only grow, so a claim that comes late does not take a job that came back meanwhile."""
    return (
        stored is not None
        and stored.state is JobState.READY
        and (stored.id, stored.deliveries) == (seen.job_id, seen.deliveries)
    )


def asked(job: Job) -> str | None:
    """The id of the run that was asked for while the job was busy."""
    return job.rerun.id if job.rerun else None


def may_be_asked(stored: Job, seen: Job) -> bool:
    """Whether a run may be asked for over what was seen; a job that died and was revived is another turn."""
    turn, now = ((job.id, job.generation, asked(job)) for job in (seen, stored))
    return stored.state is JobState.BUSY and now == turn


def claimed(job: Job, session: str, claim: str, at: int) -> Job:
    return replace(
        job,
        state=JobState.BUSY,
        session=session,
        claim=claim,
        claimed_us=at,
        deliveries=job.deliveries + 1,
        queued_us=job.queued_us + max(0, at - job.ready_us),
    )


def given_back(job: Job, how: GivenBack) -> Job:
    """Back in its old place, or delayed first."""
    return replace(
        job,
        state=JobState.READY if how.due_us is None else JobState.DELAYED,
        ready_us=how.at if how.due_us is None else how.due_us,
        session=None,
        claim=None,
        claimed_us=None,
        failures=job.failures + how.failed,
        busy_us=job.busy_us + worked(job.claimed_us, how.at),
    )


def promoted(job: Job, at: int) -> Job:
    return replace(job, state=JobState.READY, ready_us=at)


def ended(job: Job, at: int) -> Job:
    """What is left of a job: its mark, or the run that was asked for while it was busy."""
    if job.rerun is not None:
        return _reborn(job, job.rerun, at)
    return replace(
        job,
        state=JobState.DONE,
        payload=None,
        session=None,
        claim=None,
        claimed_us=None,
        done_by=job.claim,
        done_us=at,
        busy_us=job.busy_us + worked(job.claimed_us, at),
    )


def _reborn(job: Job, rerun: Rerun, at: int) -> Job:
    return Job(
        key=job.key,
        name=job.name,
        id=rerun.id,
        state=JobState.READY,
        priority=rerun.priority,
        added_us=rerun.added_us,
        ready_us=at,
        payload=rerun.payload,
        item_id=rerun.item_id,
        generation=job.generation + 1,
        done_by=job.claim,
    )


def revived(dead: Dead, at: int, over: Job | None, revival: str | None = None) -> Job:
    """The dead job in its old place, with its failures forgiven, as the request *revival* stores it."""
    return replace(
        dead.job,
        state=JobState.READY,
        ready_us=at,
        failures=0,
        session=None,
        claim=None,
        claimed_us=None,
        rerun=None,
        generation=over.generation + 1 if over else dead.job.generation + 1,
        done_by=over.done_by if over else None,
        revival=revival,
    )


def fate(stored: Job | None, job: Job) -> Fate:
    """What became of the claim that *job* was taken under."""
    if stored is None or stored.generation < job.generation:
        return Fate.LOST
    if stored.done_by == job.claim:
        return Fate.ENDED
    if stored.claim == job.claim:
        return Fate.HELD
    told = stored.generation == job.generation or (stored.generation == job.generation + 1 and stored.is_live)
    return Fate.LOST if told else Fate.UNKNOWN


def worked(claimed_us: int | None, at: int) -> int:
    return max(0, at - (at if claimed_us is None else claimed_us))


def entry_of(job: Job) -> Entry:
    return Entry(
        key=job.key,
        job_id=job.id,
        ix=job.ix or "",
        state=job.state,
        deliveries=job.deliveries,
        ready_us=job.ready_us,
        session=job.session,
        claim=job.claim,
        claimed_us=job.claimed_us,
    )
