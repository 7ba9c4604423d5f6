"""The lifecycle of a job as values: the job after each transition, and the condition of the transition."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from fanin.queue.rules.keys import JobKey
from fanin.queue.rules.model import (
    EARLIER_MOST,
    Dead,
    EarlierJob,
    Entry,
    GivenBack,
    Job,
    JobState,
    NewJob,
    OutboxEntry,
    Rerun,
    digest_of,
)


class ClaimStatus(Enum):
    """What the stored job says of a claim."""

    HELD = "the claim holds"
    ENDED = "the claim ended the job"
    LOST = "the claim is gone and did not end the job"
    UNKNOWN = "the key has had later jobs, so the end of this one is no longer stored"


def new_job(request: NewJob, key: JobKey, job_id: str, now: int, over: Job | None) -> Job:
    """Return the job that an add stores; *over*: the done job of the same key that it replaces."""
    ready_us = now + round(request.delay * 1_000_000)
    job = Job(
        key=key,
        name=request.key,
        id=job_id,
        state=JobState.DELAYED if request.delay else JobState.READY,
        priority=request.priority,
        added_us=now,
        ready_us=ready_us,
        payload=request.payload_text,
        item_id=request.item_id,
    )
    return _after(job, over)


def _after(job: Job, over: Job | None) -> Job:
    """Return the job as its key holds it over the done job *over*: the same one, where it is revived."""
    if over is None:
        return job
    job = replace(job, generation=over.generation + 1, done_by=over.done_by)
    return job if over.id == job.id else replace(job, before=_ended_before(over, over.done_us))


def _ended_before(over: Job, ended_us: int | None) -> tuple[EarlierJob, ...]:
    """Return the jobs that the next job of the key knows: the one that ended now, and those before it."""
    if ended_us is None:
        return over.before
    return _known(EarlierJob(digest_of(over.id), ended_us), over.before)


def _known(last: EarlierJob, before: tuple[EarlierJob, ...]) -> tuple[EarlierJob, ...]:
    """Return *last* with those before it whose marks still hold."""
    return (last, *(each for each in before if each.is_known(last.ended_us)))[:EARLIER_MOST]


def outbox_entry(job: Job, dead: Dead | None) -> OutboxEntry | None:
    """Return the outbox entry that is stored when the busy job ends; None for a job without an item."""
    if job.item_id is None:
        return None
    reason, part = dead.error if dead else job.item_failure, job.key.part.number
    result = job.item_result if reason is None else None
    return OutboxEntry(job.id, job.item_id, reason is not None, reason, job.ending, part, result)


def removal_entries(job: Job, reason: str) -> list[OutboxEntry]:
    """Return the outbox entries that are stored when a live job is removed: the failures of its items."""
    if not job.is_live:
        return []
    runs: list[Job | Rerun] = [job, job.rerun] if job.rerun is not None else [job]
    # The idempotency key of an ack follows from this, and a generation begins again once the mark is gone.
    ending = f"removed-{job.added_us}-{job.generation}"
    return [
        OutboxEntry(
            job_id=run.id,
            item_id=run.item_id,
            failed=True,
            reason=reason,
            ending=f"{ending}-{number}#{job.key.sort}",
            part=job.key.part.number,
        )
        for number, run in enumerate(runs)
        if run.item_id is not None
    ]


def may_be_added(stored: Job | None, over: Job | None) -> bool:
    """Return whether the key has no job, or still the done job *over* that the add replaces.

    A delayed copy of an add finds neither, because the generation has grown since.
    """
    if over is None:
        return stored is None
    return stored is not None and not stored.is_live and stored.generation == over.generation


def may_be_claimed(stored: Job | None, seen: Entry) -> bool:
    """Return whether the job is ready and has not been claimed since it was seen.

    *deliveries* only grows, so a delayed claim does not take a job that was returned meanwhile.
    """
    return (
        stored is not None
        and stored.state is JobState.READY
        and (stored.id, stored.deliveries) == (seen.job_id, seen.deliveries)
    )


def is_unchanged(stored: Job | None, seen: Job) -> bool:
    """Return whether the row still holds the job that was seen, in the same state and under the same claim.

    *added_us* differs in the job of the same key and id in a queue that was removed and created again.
    """
    if stored is None:
        return False
    before, now = (
        (job.state, job.id, job.generation, job.added_us, job.claim, rerun_id(job)) for job in (seen, stored)
    )
    return before == now


def may_be_deleted(stored: Job | None, seen: Job) -> bool:
    """Return whether the job that was seen is still queued or delayed, in its generation.

    A delayed copy of the request finds the mark, or a later generation.
    """
    return seen.state in (JobState.READY, JobState.DELAYED) and is_unchanged(stored, seen)


def deleted(job: Job, at: int, deletion: str) -> Job:
    """Return the mark of a job that was deleted; *deletion*: the id of the request, in place of a claim."""
    return replace(job, state=JobState.DONE, payload=None, rerun=None, done_by=deletion, done_us=at)


def rerun_id(job: Job) -> str | None:
    """Return the id of the rerun that was requested while the job was busy, if one was."""
    return job.rerun.id if job.rerun else None


def takes_rerun(job: Job, item_id: str | None) -> bool:
    """Return whether the job is busy, and its next run can ack *item_id*: a run acks one item."""
    held = job.rerun.item_id if job.rerun else None
    return job.state is JobState.BUSY and (held is None or item_id is None or held == item_id)


def may_be_rerun(stored: Job, seen: Job) -> bool:
    """Return whether the job is busy, and neither its generation nor its rerun changed since it was seen.

    A job that died and was revived has another generation.
    """
    before, now = ((job.id, job.generation, rerun_id(job)) for job in (seen, stored))
    return stored.state is JobState.BUSY and now == before


def rerun_requested(job: Job, rerun: Rerun) -> Job:
    """Return the busy job with the requested rerun.

    A rerun that it replaces is one of the earlier jobs from then on, and leaves its item.
    """
    replaced = job.rerun
    if replaced is None:
        return replace(job, rerun=rerun)
    rerun = replace(rerun, item_id=rerun.item_id or replaced.item_id)
    known = _known(EarlierJob(digest_of(replaced.id), rerun.added_us), job.before)
    return replace(job, rerun=rerun, before=known)


def claimed(job: Job, session: str, claim: str, at: int) -> Job:
    """Return the job as busy under *claim*."""
    return replace(
        job,
        state=JobState.BUSY,
        session=session,
        claim=claim,
        claimed_us=at,
        deliveries=job.deliveries + 1,
        queued_us=job.queued_us + max(0, at - job.ready_us),
    )


def given_back(job: Job, release: GivenBack) -> Job:
    """Return the job as ready at its old position, or as delayed."""
    return replace(
        job,
        state=JobState.READY if release.due_us is None else JobState.DELAYED,
        ready_us=release.at if release.due_us is None else release.due_us,
        session=None,
        claim=None,
        claimed_us=None,
        failures=job.failures + release.failed,
        busy_us=job.busy_us + worked(job.claimed_us, release.at),
    )


def promoted(job: Job, at: int) -> Job:
    """Return the delayed job as ready."""
    return replace(job, state=JobState.READY, ready_us=at)


def may_be_ended(stored: Job, seen: Job) -> bool:
    """Return whether the claim of *seen* still holds, and no other rerun was requested since it was read."""
    return seen.claim is not None and (stored.claim, rerun_id(stored)) == (seen.claim, rerun_id(seen))


def ended(job: Job, at: int) -> Job:
    """Return what the key holds after the end: the mark of the done job, or the requested rerun as ready."""
    if job.rerun is not None:
        return _rerun(job, job.rerun, at)
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


def _rerun(job: Job, rerun: Rerun, at: int) -> Job:
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
        before=_ended_before(job, at),
    )


def revived(dead: Dead, at: int, over: Job | None, revival: str | None = None) -> Job:
    """Return the dead job as ready at its old position, without failures.

    *over*: the done job of the same key that it replaces; *revival*: the id of the request.
    """
    job = replace(
        dead.job,
        state=JobState.READY,
        ready_us=at,
        failures=0,
        session=None,
        claim=None,
        claimed_us=None,
        rerun=None,
        generation=dead.job.generation + 1,
        done_by=None,
        revival=revival,
    )
    return _after(job, over)


def moved(job: Job, key: JobKey, over: Job | None) -> Job:
    """Return a waiting job as the row *key* stores it, over the done job *over*."""
    return _after(replace(job, key=key, generation=1, done_by=None), over)


def moved_mark(job: Job, at: int) -> Job:
    """Return the mark that a waiting job leaves in the row from which it is moved."""
    return replace(job, state=JobState.DONE, payload=None, rerun=None, done_us=at)


def may_be_moved(stored: Job | None, seen: Job) -> bool:
    """Return whether the waiting job is stored as it was seen."""
    return stored == seen


def claim_status(stored: Job | None, job: Job) -> ClaimStatus:
    """Return the status of the claim under which *job* was taken, by the job that its key holds now."""
    if stored is None or stored.generation < job.generation:
        return ClaimStatus.LOST
    if stored.done_by == job.claim:
        return ClaimStatus.ENDED
    if stored.claim == job.claim:
        return ClaimStatus.HELD
    # A live job names the claim that ended the one before it; a later one does not say.
    is_next = stored.generation == job.generation + 1 and stored.is_live
    known = stored.generation == job.generation or is_next
    return ClaimStatus.LOST if known else ClaimStatus.UNKNOWN


def worked(claimed_us: int | None, at: int) -> int:
    """Return the microseconds from *claimed_us* to *at*; 0 for a job that is not claimed."""
    return max(0, at - (at if claimed_us is None else claimed_us))


def entry_of(job: Job) -> Entry:
    """Return the job as the index shows it."""
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
