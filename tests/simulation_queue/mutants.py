"""The rules of the queue, each left out once: ``python -m tests.simulation_queue.mutants --seeds 2000``."""

from __future__ import annotations

import sys
from dataclasses import replace

from fanin.queue import lifecycle, listing
from fanin.queue.claims import Claims
from fanin.queue.lifecycle import Fate
from fanin.queue.maintenance import Janitor
from fanin.queue.memory import MemoryStore
from fanin.queue.model import GivenBack, Job, JobState
from fanin.queue.scope import Jobs
from fanin.queue.service import Queue
from fanin.queue.session import Session
from tests.simulating.mutants import Mutant, drive
from tests.simulation_queue.run import ROOM

_end, _fate, _given_back, _end_claim = MemoryStore.end, lifecycle.fate, lifecycle.given_back, Claims.end
_ring, _revive, _telling = Janitor.ring, listing.revive, lifecycle.telling


def _end_in_two_steps(self, job, at, writes=(), dead=None):
    self.written.extend(writes)
    return _end(self, job, at, (), dead)


def _end_whoever_asks(self, job, at, writes=(), dead=None):
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


def _end_and_tell_nobody(self, job, at, writes=(), dead=None):
    ended = _end(self, job, at, writes, dead)
    self.untold.clear()
    return ended


def _end_without_the_dead_record(self, job, at, writes=(), dead=None):
    ended = _end(self, job, at, writes, dead)
    if dead is not None:
        self.dead_jobs.clear()
    return ended


def _give_back_whoever_has_it(self, seen, how):
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
    job = self.store.claim(head, self.session.id, claim, self.effects.now())
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
    dead = {member.id for member in self.store.members(self.queue) if not member.live}
    self.free_all([entry for entry in busy if entry.session in dead])


def _free_nothing(self, busy):
    return None


def _end_without_freeing(self, member):
    if self.store.end_session(self.queue, member.id, member.heartbeats):
        self.store.forget(self.queue, member.id)


def _return_errors_only(self, error):
    if isinstance(error, Exception):
        for job in list(self._open().values()):
            self.release(job, failed=True)


def _look_at_rings_only(self, worker, most, parts, rings):
    jobs = worker.claims.take(list({ring.part for ring in rings}) if rings else parts or [], most)
    self._heard(rings)
    return jobs


def _fate_of_an_applied_end(stored, job):
    """Lost is what one's own last request did not change."""
    fate = _fate(stored, job)
    return Fate.LOST if fate is Fate.ENDED and stored.done_us != job.done_us else fate


def _asked_in_any_turn(stored, seen):
    """A run is asked for of a job that died and was revived meanwhile."""
    return (stored.state, stored.id) == (JobState.BUSY, seen.id) and lifecycle.asked(
        stored
    ) == lifecycle.asked(seen)


def _rerun_over_any(self, seen, rerun):
    job = self.stored.get(seen.key)
    if job is not None and job.id == seen.id and job.state is JobState.BUSY:
        self._put(replace(job, rerun=rerun))
    return self.stored.get(seen.key)


def _added_over_any_done(stored, over):
    return stored is None or not stored.is_live


def _ended_by_a_guess(self, job, writes=(), dead=None):
    """Silence is taken for an end."""
    stored = self._try_to_end(job, writes, dead)
    if stored is job:
        self.session.let_go(job.claim)
        return job
    return _end_claim(self, job, writes, dead)


def _take_some_more(self, heads, most):
    return [job for job in (self._claim(head) for head in heads[: most + 1]) if job]


def _revive_and_keep(self, dead, job, over):
    if lifecycle.may_be_added(self.stored.get(job.key), over):
        self._put(job)
    return self.stored.get(job.key)


def _ring_once(self, rings, delay=0.0):
    if not delay:
        _ring(self, rings)


def _revived_whoever_did_it(place, dead):
    """A job that is back is taken for one's own doing."""
    over = place.store.get(dead.job.key)
    return (over is not None and over.is_live and over.id == dead.job.id) or _revive(place, dead)


_is_live = lambda stored, seen: stored is not None and stored.is_live
_is_ready = lambda stored, seen: stored is not None and stored.state is JobState.READY
_ENDS_IN_TWO = (MemoryStore, "end", _end_in_two_steps)
_GIVES_BACK_ANY = (MemoryStore, "give_back", _give_back_whoever_has_it)
_NUMBERS = (Claims, "_claim", _numbered_claim)
_BEATS_ON = (MemoryStore, "beat", _beat_or_come_back)
_FREES_NOTHING = (Janitor, "_free_the_abandoned", _free_nothing)
_FORGETS = (MemoryStore, "end", _end_and_forget)

MUTANTS = (
    Mutant(
        "all of them (the naive port)", _ENDS_IN_TWO, _GIVES_BACK_ANY, _NUMBERS, _BEATS_ON, _FREES_NOTHING
    ),
    Mutant("the outcome and the end are one transaction", _ENDS_IN_TWO),
    Mutant("an end compares the claim", (MemoryStore, "end", _end_whoever_asks), since=860),
    Mutant("a return compares the claim", _GIVES_BACK_ANY),
    Mutant("a return compares the claim, not the session", (MemoryStore, "give_back", _give_back_by_session)),
    Mutant("a returned job keeps its place", (lifecycle, "given_back", _given_back_at_the_end)),
    Mutant("the parts are swept", _FREES_NOTHING, (Janitor, "_end", _end_without_freeing)),
    Mutant("who ends a session frees its claims", (Janitor, "_end", _end_without_freeing)),
    Mutant("a missing session is a dead one", (Janitor, "_free_the_abandoned", _free_only_the_dead)),
    Mutant("a claim is unique for ever", _NUMBERS),
    Mutant("only a ready job is claimed", (lifecycle, "may_be_claimed", _is_live)),
    Mutant("a claim compares the deliveries", (lifecycle, "may_be_claimed", _is_ready), since=910),
    Mutant("a done job leaves a mark", _FORGETS),
    Mutant("an add compares the generation", (lifecycle, "may_be_added", _added_over_any_done)),
    Mutant("an add is refused by a live job", (lifecycle, "may_be_added", lambda stored, over: True)),
    Mutant("a dead session does not beat", _BEATS_ON),
    Mutant(
        "a claim without an answer is looked for", (Janitor, "_is_mine_unknown", lambda self, entry: False)
    ),
    Mutant("a claim without an answer is remembered", (Session, "doubts", lambda self: set())),
    Mutant("an interruption returns the jobs", (Jobs, "_return_all", _return_errors_only)),
    Mutant(
        "lost rings are made up for",
        (Queue, "_look", _look_at_rings_only),
        (Janitor, "_ring_for_old", lambda self, key: False),
    ),
    Mutant("the sweep promotes", (Janitor, "promote", lambda self, entry: None)),
    Mutant("an end without an answer is asked after", (Claims, "end", _ended_by_a_guess)),
    Mutant("an end is known as one's own", (lifecycle, "fate", _fate_of_an_applied_end)),
    Mutant("an end looks for a run asked for", (MemoryStore, "end", _end_without_looking_for_a_rerun)),
    Mutant("a run is asked for over the one seen", (MemoryStore, "rerun", _rerun_over_any), since=1880),
    Mutant(
        "a run is asked for in the job's turn", (lifecycle, "may_be_asked", _asked_in_any_turn), since=2_100
    ),
    Mutant("what is to be told is stored with the end", (MemoryStore, "end", _end_and_tell_nobody)),
    Mutant("a death is recorded with the end", (MemoryStore, "end", _end_without_the_dead_record)),
    Mutant("the dead record goes when the job comes back", (MemoryStore, "revive", _revive_and_keep)),
    Mutant("a death is named by the claim that ended the job", (Job, "ending", property(lambda job: job.id))),
    Mutant("a revival is known by the job that it stored", (listing, "revive", _revived_whoever_did_it)),
    Mutant("a mark holds for its time only", (Job, "expired", lambda self, now: False)),
    Mutant("a mark holds for its time", (Job, "expired", lambda self, now: not self.is_live)),
    Mutant(
        "the error of a dead job is told",
        (
            lifecycle,
            "telling",
            lambda job, dead: (told := _telling(job, dead)) and replace(told, reason=None),
        ),
    ),
    Mutant("a take gives at most what was asked", (Claims, "take_these", _take_some_more)),
    Mutant("who frees a claim takes the job himself", (Janitor, "take_notice", lambda self, most: [])),
    Mutant("a freed job is rung for twice", (Janitor, "ring", _ring_once)),
)

EQUIVALENT = (
    (
        Mutant(
            "a session that beat is not ended", (MemoryStore, "end_session", _end_session_without_looking)
        ),
        "ending a living session costs second executions, never a second ack",
    ),
    (
        Mutant("a session gives itself up", (Session, "alive", lambda self: not self.lost)),
        "the store refuses what a lost claim asks for; giving up saves the work",
    ),
    (
        Mutant("old ready jobs are rung for", (Janitor, "_ring_for_old", lambda self, key: False)),
        "after so many seconds of silence the owner of a part looks for himself",
    ),
)


if __name__ == "__main__":
    sys.exit(drive(ROOM, MUTANTS, EQUIVALENT))
