"""The rules of the queue, each left out once: ``python -m tests.simulation_queue.mutants --seeds 2000``."""

from __future__ import annotations

import sys
from dataclasses import replace

from fanin.queue.administration.listing import Listings
from fanin.queue.maintenance.maintenance import Maintenance, SessionWatch
from fanin.queue.memory import MemoryStore
from fanin.queue.rules import lifecycle, part_owners
from fanin.queue.rules.lifecycle import ClaimStatus
from fanin.queue.rules.model import GivenBack, Job, JobState
from fanin.queue.scope import Jobs
from fanin.queue.sessions.claims import Claims
from fanin.queue.sessions.session import Session
from fanin.queue.sessions.taker import Taker
from tests.simulating.mutants import Mutant, drive
from tests.simulation_queue.claim_mutants import CLAIM_MUTANTS
from tests.simulation_queue.deletion_mutants import DELETION_MUTANTS
from tests.simulation_queue.idle_mutants import IDLE_EQUIVALENT, IDLE_MUTANTS
from tests.simulation_queue.run import ROOM

_end, _end_claim, _given_back = MemoryStore.end, Claims.end, lifecycle.given_back
_claim_status, _outbox_entry, _revive = lifecycle.claim_status, lifecycle.outbox_entry, Listings.revive


def _end_in_two_steps(self, job, at, writes=(), dead=None):
    self.written.extend(writes)
    return _end(self, job, at, (), dead)


def _end_under_any_claim(self, job, at, writes=(), dead=None):
    now = self.stored.get(job.key)
    if now is not None and now.state is JobState.BUSY:
        job = replace(job, claim=now.claim, rerun=now.rerun)
    return _end(self, job, at, writes, dead)


def _end_and_forget(self, job, at, writes=(), dead=None):
    ended = _end(self, job, at, writes, dead)
    if ended is not None and not ended.is_live:
        self.stored.pop(job.key, None)
    return ended


def _end_without_looking_for_a_rerun(self, job, at, writes=(), dead=None):
    now = self.stored.get(job.key)
    if now is not None and now.rerun is not None and now.claim == job.claim:
        self.stored[job.key] = replace(now, rerun=None)
        job = replace(job, rerun=None)
    return _end(self, job, at, writes, dead)


def _end_without_the_outbox_entry(self, job, at, writes=(), dead=None):
    ended = _end(self, job, at, writes, dead)
    self.outboxes.clear()
    return ended


def _end_without_the_dead_record(self, job, at, writes=(), dead=None):
    ended = _end(self, job, at, writes, dead)
    if dead is not None:
        self.dead_jobs.clear()
    return ended


def _give_back_under_any_claim(self, seen, how):
    job = self.stored.get(seen.key)
    if job is None:
        return False
    self._put(lifecycle.given_back(job, how))
    return True


def _give_back_by_session(self, seen, how):
    job = self.stored.get(seen.key)
    if job is None or job.session != seen.session:
        return False
    self._put(lifecycle.given_back(job, how))
    return True


def _given_back_at_the_end(job, how: GivenBack):
    return replace(_given_back(job, how), added_us=how.at)


def _numbered_claim(self, head):
    """The claim is a counter of the item, as an SQL table would have it."""
    claim = str(head.deliveries + 1)
    self.session.hold(claim, None)
    job = self.context.store.claim(head, self.session.id, claim, self.context.effects.now())
    if job is None:
        self.session.let_go(claim)
    else:
        self.session.hold(claim, job)
    return job


def _beat_or_come_back(self, queue, session, expires_us):
    member = self._members(queue).get(session)
    if member is not None:
        self._members(queue)[session] = replace(
            member, live=True, heartbeats=member.heartbeats + 1, expires_us=expires_us
        )
    return True


def _end_session_without_looking(self, queue, session, heartbeats):
    member = self._members(queue).get(session)
    if member is not None:
        self._members(queue)[session] = replace(member, live=False)
    return True


def _free_only_the_dead(self, busy):
    dead = {member.id for member in self.context.store.members(self.context.key) if not member.live}
    self.free_all([entry for entry in busy if entry.session in dead])


def _free_nothing(self, busy):
    return None


def _end_without_freeing(self, member):
    if self.context.store.end_session(self.context.key, member.id, member.heartbeats):
        self.context.store.forget(self.context.key, member.id)


def _return_errors_only(self, error):
    if isinstance(error, Exception):
        for job in list(self._open().values()):
            self.release(job, failed=True)


def _look_at_rings_only(self, worker, request, rings):
    parts = list({ring.part for ring in rings}) if rings else request.parts or []
    jobs = worker.claims.take(parts, request.most)
    self._delete(rings)
    return jobs


def _status_of_an_applied_end(stored, job):
    """An end by an earlier request of the same claim is taken for a lost claim."""
    status = _claim_status(stored, job)
    return ClaimStatus.LOST if status is ClaimStatus.ENDED and stored.done_us != job.done_us else status


def _rerun_in_any_generation(stored, seen):
    """A rerun is requested of a job that died and was revived meanwhile."""
    return (stored.state, stored.id) == (JobState.BUSY, seen.id) and lifecycle.rerun_id(
        stored
    ) == lifecycle.rerun_id(seen)


_rerun_requested = lifecycle.rerun_requested


def _rerun_without_the_item(job, rerun):
    asked = _rerun_requested(job, rerun)
    return replace(asked, rerun=rerun)


def _rerun_without_a_trace(job, rerun):
    return replace(_rerun_requested(job, rerun), before=job.before)


def _rerun_over_any(self, seen, rerun):
    job = self.stored.get(seen.key)
    if job is not None and job.id == seen.id and job.state is JobState.BUSY:
        self._put(replace(job, rerun=rerun))
    return self.stored.get(seen.key)


def _added_over_any_done(stored, over):
    return stored is None or not stored.is_live


def _ended_by_a_guess(self, job, writes=(), dead=None):
    """A timeout is taken for an end."""
    stored = self._try_to_end(job, writes, dead)
    if stored is job:
        self.session.let_go(job.claim)
        return job
    return _end_claim(self, job, writes, dead)


def _take_some_more(self, heads, most):
    return [job for job in (self._claim(head) for head in heads[: most + 1]) if job]


def _revive_and_keep(self, dead, job, over, check=None):
    if lifecycle.may_be_added(self.stored.get(job.key), over) and self._holds(check):
        self._put(job)
    return self.stored.get(job.key)


def _revived_by_any_call(self, dead):
    """A job that is live is taken for revived by this call."""
    over = self.context.store.get(dead.job.key)
    return (over is not None and over.is_live and over.id == dead.job.id) or _revive(self, dead)


_is_live = lambda stored, seen: stored is not None and stored.is_live
_is_ready = lambda stored, seen: stored is not None and stored.state is JobState.READY
_ENDS_IN_TWO = (MemoryStore, "end", _end_in_two_steps)
_GIVES_BACK_ANY = (MemoryStore, "give_back", _give_back_under_any_claim)
_NUMBERS = (Claims, "_claim", _numbered_claim)
_BEATS_ON = (MemoryStore, "beat", _beat_or_come_back)
_FREES_NOTHING = (Maintenance, "_free_abandoned", _free_nothing)
_FORGETS = (MemoryStore, "end", _end_and_forget)

MUTANTS = (
    Mutant(
        "all of them (the naive port)", _ENDS_IN_TWO, _GIVES_BACK_ANY, _NUMBERS, _BEATS_ON, _FREES_NOTHING
    ),
    Mutant("the outcome and the end are one transaction", _ENDS_IN_TWO),
    Mutant("an end compares the claim", (MemoryStore, "end", _end_under_any_claim), since=860),
    Mutant("a return compares the claim", _GIVES_BACK_ANY),
    Mutant("a return compares the claim, not the session", (MemoryStore, "give_back", _give_back_by_session)),
    Mutant("a returned job keeps its position", (lifecycle, "given_back", _given_back_at_the_end)),
    Mutant("the parts are swept", _FREES_NOTHING, (Maintenance, "_end", _end_without_freeing)),
    Mutant("the worker that ends a session frees its claims", (Maintenance, "_end", _end_without_freeing)),
    Mutant("a missing session is a dead one", (Maintenance, "_free_abandoned", _free_only_the_dead)),
    Mutant("a claim is unique for ever", _NUMBERS),
    Mutant("only a ready job is claimed", (lifecycle, "may_be_claimed", _is_live)),
    Mutant("a claim compares the deliveries", (lifecycle, "may_be_claimed", _is_ready), since=910),
    Mutant("a done job leaves a mark", _FORGETS),
    Mutant("an add compares the generation", (lifecycle, "may_be_added", _added_over_any_done)),
    Mutant("an add is refused by a live job", (lifecycle, "may_be_added", lambda stored, over: True)),
    Mutant("a dead session does not beat", _BEATS_ON),
    Mutant(
        "a claim that timed out is looked for", (Maintenance, "_is_unknown_own", lambda self, entry: False)
    ),
    Mutant("a claim that timed out is remembered", (Session, "doubts", lambda self: set())),
    Mutant("an interruption returns the jobs", (Jobs, "_return_all", _return_errors_only)),
    Mutant(
        "lost rings are sent again by the sweep",
        (Taker, "_look", _look_at_rings_only),
        (Maintenance, "_ring_for_old", lambda self, key: False),
    ),
    Mutant("the sweep promotes", (Maintenance, "promote", lambda self, entry: None)),
    Mutant("an end that timed out is checked", (Claims, "end", _ended_by_a_guess)),
    Mutant("an end is known as one's own", (lifecycle, "claim_status", _status_of_an_applied_end)),
    Mutant("an end compares the requested rerun", (MemoryStore, "end", _end_without_looking_for_a_rerun)),
    Mutant("a rerun is requested over the one seen", (MemoryStore, "rerun", _rerun_over_any), since=1880),
    Mutant(
        "a rerun that is replaced leaves its item", (lifecycle, "rerun_requested", _rerun_without_the_item)
    ),
    Mutant("a rerun that was replaced is known", (lifecycle, "rerun_requested", _rerun_without_a_trace)),
    Mutant(
        "a rerun of another item is rejected",
        (lifecycle, "takes_rerun", lambda job, item_id: job.state is JobState.BUSY),
    ),
    Mutant(
        "a rerun is requested in the job's generation",
        (lifecycle, "may_be_rerun", _rerun_in_any_generation),
    ),
    Mutant("the outbox entry is stored with the end", (MemoryStore, "end", _end_without_the_outbox_entry)),
    Mutant("a death is recorded with the end", (MemoryStore, "end", _end_without_the_dead_record)),
    Mutant("the dead record goes when the job comes back", (MemoryStore, "revive", _revive_and_keep)),
    Mutant("a death is named by the claim that ended the job", (Job, "ending", property(lambda job: job.id))),
    Mutant("a revival is known by the job that it stored", (Listings, "revive", _revived_by_any_call)),
    Mutant("a mark holds for its time only", (Job, "expired", lambda self, now: False)),
    Mutant("a mark holds for its time", (Job, "expired", lambda self, now: not self.is_live)),
    Mutant(
        "the error of a dead job is reported",
        (
            lifecycle,
            "outbox_entry",
            lambda job, dead: (entry := _outbox_entry(job, dead)) and replace(entry, reason=None),
        ),
    ),
    Mutant("a take gives at most what was asked", (Claims, "take_these", _take_some_more)),
    Mutant("the worker that frees a claim takes the job", (Maintenance, "pop_freed", lambda self, most: [])),
    Mutant("two sessions watch each one", (part_owners, "NEIGHBOURS", 1), since=10_056),
    Mutant(
        "missed heartbeats of a neighbour have all others noted",
        (SessionWatch, "_alarm", lambda self, seen, at: None),
        since=4_056,
    ),
    Mutant("a freed job is rung for twice", (Maintenance, "_ring_again", lambda self, rings: None)),
    *CLAIM_MUTANTS,
    *DELETION_MUTANTS,
    *IDLE_MUTANTS,
)

EQUIVALENT = (
    (
        Mutant(
            "a session that beat is not ended", (MemoryStore, "end_session", _end_session_without_looking)
        ),
        "ending a living session costs second executions, never a second ack",
    ),
    (
        Mutant(
            "a session without confirmed heartbeats ends itself",
            (Session, "alive", lambda self: not self.lost),
        ),
        "the store refuses every write under a lost claim; ending the session early saves work",
    ),
    *IDLE_EQUIVALENT,
)


if __name__ == "__main__":
    sys.exit(drive(ROOM, MUTANTS, EQUIVALENT))
