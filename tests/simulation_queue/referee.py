"""Checks every applied write against the invariants Q1 to Q11."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fanin.queue.memory import MemoryStore
from fanin.queue.rules import model
from fanin.queue.rules.keys import JobKey, QueueKey
from fanin.queue.rules.model import Dead, Job, JobState, Member
from tests.simulating.violation import require
from tests.simulation_queue.claim_order import check_heads
from tests.simulation_queue.loop import SECOND, WALL

CHANGES_SESSIONS = frozenset({"enter", "beat", "end_session", "forget"})
WRITES = frozenset(
    {"add", "collide", "rerun", "claim", "give_back", "end", "promote", "revive", "delete_outbox_entry"}
    | {"create", "reconfigure", "count_change", "move", "remove", "remove_dead", "delete", *CHANGES_SESSIONS}
)


Named = tuple[QueueKey, str, str]
"""A job by its queue, its sort key and its id: jobs of other keys can have the same id."""
# Clocks are four seconds apart at most, and the table's is one ahead of them.
EARLIEST = 5_000_000


def named(job: Job, job_id: str | None = None) -> Named:
    """The name of a job, or of the run of its key that has another id."""
    return name_of(job.key, job_id or job.id)


def name_of(key: JobKey, job_id: str) -> Named:
    """The name of a job of a key, whichever part it is in."""
    return key.part.queue, key.sort, job_id


@dataclass
class JobRecord:
    """What the referee counted of one accepted job. *ended_at*: when it last ended."""

    key: JobKey
    position: str
    claims: int = 0
    failures: int = 0
    queued: int = 0
    busy: int = 0
    collisions: int = 0
    ended: int = 0
    died: int = 0
    superseded: bool = False
    took: int = 0
    ended_at: int = 0


@dataclass
class Referee:
    """*records*: those of the accepted jobs. *past*: earlier records of the same key and id, whose marks had
    expired. *ended_by*: the job that a claim ended. *revived*: the dead records that were revived.

    *last_live*: when a key last became live, changed, or ended. *earlier*: the sessions before their last
    changes, and when they were changed. *deleted*: when a job of which key was deleted. *skew*: by how
    much a wall clock is wrong at most. *replaced*: the last rerun of a key that another replaced, and in
    which generation.
    """

    store: MemoryStore
    records: dict[Named, JobRecord] = field(default_factory=dict)
    past: list[tuple[Named, JobRecord]] = field(default_factory=list)
    accepted_of: Counter[str] = field(default_factory=Counter)
    ended_by: dict[str, Named] = field(default_factory=dict)
    revived: set[str] = field(default_factory=set)
    now: int = 0
    claims_seen: set[str] = field(default_factory=set)
    ended_sessions: set[str] = field(default_factory=set)
    last_live: dict[str, int] = field(default_factory=dict)
    earlier: deque[tuple[int, list[Member]]] = field(default_factory=lambda: deque(maxlen=16))
    to_report: dict[str, str] = field(default_factory=dict)
    deleted: list[tuple[int, str]] = field(default_factory=list)
    skew: int = 0
    replaced: dict[JobKey, tuple[str, int]] = field(default_factory=dict)

    def apply(self, name: str, args: tuple[Any, ...], now: int) -> Any:
        """Apply a request, and check what it changed."""
        self.now = now
        operation = getattr(self.store, name)
        if name not in WRITES:
            answer = operation(*args)
            if name == "ready":
                check_heads(self.store, args, answer)
            return answer
        before, members = dict(self.store.stored), self._members()
        if name in CHANGES_SESSIONS:
            self.earlier.append((now, list(members.values())))
        answer = operation(*args)
        if name == "remove_dead":
            self.records[named(args[0].job)].died = 0
        if name == "collide":
            self._collided(args[0], before)
        for old, new in _changes(before, self.store.stored):
            self._judge(name, args, old, new)
            if (old and old.is_live) or (new and new.is_live):
                self.last_live[(new or old).name] = now
        self._judge_sessions(name, members)
        return answer

    def _judge(self, name: str, args: tuple[Any, ...], old: Job | None, new: Job | None) -> None:
        if old is None or not old.is_live:
            if new is not None:
                self._appeared(name, args, old, new)
        elif new is None or new.id != old.id or not new.is_live:
            judge = {"remove": self._removed, "delete": self._deleted}.get(name, self._ended)
            judge(name, args, old, new)
        elif old.state is JobState.BUSY and new.state is not JobState.BUSY:
            self._returned(name, args, old, new)
        elif new.state is JobState.BUSY and (old.state is not JobState.BUSY or old.claim != new.claim):
            self._claimed(name, args, old, new)
        elif old.rerun != new.rerun:
            self._asked_again(old, new)
        else:
            self._stayed(name, old, new)
        if new is not None and new.is_live:
            self._count(new)

    def _appeared(self, name: str, args: tuple[Any, ...], old: Job | None, new: Job) -> None:
        if not new.is_live:
            return require(old is not None, "Q8", lambda: f"{name} made {new}")
        require(name in {"add", "revive"}, "Q8", lambda: f"{name} made {new} out of {old}")
        if name == "revive":
            return self._revived(args[0], new)
        return self._accept(named(new), JobRecord(new.key, new.position), new.payload)

    def _revived(self, dead: Dead, new: Job) -> None:
        require(dead.record not in self.revived, "Q2", lambda: f"{dead} was revived twice")
        self.revived.add(dead.record)
        record = self.records[named(new)]
        record.ended -= 1
        record.failures = record.died = 0
        fewer = dead.job.collisions <= record.collisions  # it is revived as it was claimed last
        require(fewer, "Q10", lambda: f"{dead} has more collisions than were counted")
        record.collisions = dead.job.collisions

    def _accept(self, name: Named, record: JobRecord, payload: str | None) -> None:
        """A job of the same key and id may come again once the mark of the one before has expired."""
        before = self.records.get(name)
        if before is not None:
            least = before.ended_at + model.MARK_SECONDS * model.SECOND_US - EARLIEST
            is_over = before.superseded or (before.ended and not before.died)
            forgotten = is_over and self.now >= least
            require(forgotten, "Q2", lambda: f"job {name} came back after its end")
            self.past.append((name, before))
        self.records[name] = record
        self.accepted_of[payload or ""] += 1

    def may_remove(self, payload: str) -> bool:
        """Return whether a live job of this payload may be removed; scenarios of removal say so."""
        return False

    def _removed(self, _name: str, args: tuple[Any, ...], old: Job, new: Job | None) -> None:
        seen: Job = args[0]
        same = (seen.id, seen.claim, seen.rerun, seen.state) == (old.id, old.claim, old.rerun, old.state)
        allowed = new is None and same and self.may_remove(old.payload or "")
        require(allowed, "Q2", lambda: f"a removal of {seen} put {new} over {old}")
        for run in [old, old.rerun] if old.rerun else [old]:
            self.records[named(old, run.id)].ended += 1
            if run.item_id:
                self.to_report[run.item_id] = "failed"

    def _deleted(self, _name: str, args: tuple[Any, ...], old: Job, new: Job | None) -> None:
        """A waiting job becomes a mark that names the request; its items, and its rerun's, fail."""
        seen, _, _, deletion = args
        waits = old.state in {JobState.READY, JobState.DELAYED} and seen.id == old.id
        marked = new is not None and (new.state, new.done_by) == (JobState.DONE, deletion)
        require(waits and marked, "Q3", lambda: f"a deletion of {seen} put {new} over {old}")
        for run in [old, old.rerun] if old.rerun else [old]:
            record = self.records[named(old, run.id)]
            record.ended += 1
            record.ended_at = self.now
            if run.item_id:
                self.to_report[run.item_id] = "failed"
        self.deleted.append((self.now, old.name))

    def _collided(self, seen: Job, before: dict[JobKey, Job]) -> None:
        """Q10: a collision counts once, on the job that refused the add."""
        old, new = before.get(seen.key), self.store.stored.get(seen.key)
        counts = old is not None and old.is_live and old.id == seen.id
        if counts:
            self.records[named(old)].collisions += 1
        require(counts or old is new, "Q10", lambda: f"a collision with {seen} changed {old} to {new}")
        require(not counts or old is not new, "Q10", lambda: f"a collision with {seen} was not counted")

    def _stayed(self, name: str, old: Job, new: Job) -> None:
        """Q7; and no delayed job is ready before it is due, by the fastest clock."""
        require(new.position == old.position, "Q7", lambda: f"{name} moved {old} to {new}")
        if new.state is not old.state:
            require(name == "promote", "Q3", lambda: f"{name} promoted {old}")
            early = old.ready_us - (WALL + self.now + self.skew)
            require(early <= 0, "early", lambda: f"{old} was promoted {early / SECOND} s early")

    def _ended(self, name: str, args: tuple[Any, ...], old: Job, new: Job | None) -> None:
        require(name == "end", "Q1", lambda: f"{name} put {new} over {old}")
        claim = args[0].claim
        holds = old.state is JobState.BUSY and old.claim == claim
        require(holds, "Q3", lambda: f"an end under claim {claim} changed {old}")
        record, dead = self.records[named(old)], args[3]
        record.ended += 1
        record.ended_at = self.now
        require(record.ended == 1, "Q2", lambda: f"{old.id} ended again")
        record.busy += max(0, args[1] - record.took)
        if dead is None:
            self.ended_by[claim] = named(old)
        record.died = int(dead is not None)
        if old.item_id:
            self.to_report[old.item_id] = "failed" if dead else "done"
        if new is not None and new.is_live:
            require(old.rerun and old.rerun.id == new.id, "Q8", lambda: f"{new} came out of {old}")
            self.records[named(new)].position = new.position

    def _returned(self, name: str, args: tuple[Any, ...], old: Job, new: Job) -> None:
        require(name == "give_back", "Q3", lambda: f"{name} returned {old}")
        require(
            args[0].claim == old.claim, "Q3", lambda: f"a return under claim {args[0].claim} changed {old}"
        )
        record = self.records[named(old)]
        require(new.position == record.position, "Q7", lambda: f"{old} came back as {new}")
        require(new.state is JobState.DELAYED or new.ix == record.position, "Q7", lambda: f"{new} was moved")
        record.failures += args[1].failed
        record.busy += max(0, args[1].at - old.claimed_us)

    def _claimed(self, name: str, args: tuple[Any, ...], old: Job, new: Job) -> None:
        require(old.state is JobState.READY, "Q3", lambda: f"{name} took {old} for {new.claim}")
        require(new.claim not in self.claims_seen, "Q3", lambda: f"claim {new.claim} was used before: {new}")
        self.claims_seen.add(new.claim)
        record = self.records[named(new)]
        record.claims += 1
        record.took = new.claimed_us or 0
        record.queued += max(0, args[3] - old.ready_us)

    def _asked_again(self, old: Job, new: Job) -> None:
        if old.rerun:
            record = self.records[named(old, old.rerun.id)]
            record.superseded, record.ended_at = True, self.now
            self.replaced[new.key] = old.rerun.id, new.generation
            rerun = new.rerun.item_id if new.rerun else None
            kept = old.rerun.item_id in (None, rerun)
            require(kept, "item", lambda: f"{new} lost the item of the rerun that it replaced in {old}")
        if new.rerun:
            self._accept(named(new, new.rerun.id), JobRecord(new.key, ""), new.rerun.payload)

    def _count(self, new: Job) -> None:
        record = self.records[named(new)]
        stored = (new.deliveries, new.failures, new.queued_us, new.busy_us, new.collisions)
        counted = (record.claims, record.failures, record.queued, record.busy, record.collisions)
        require(stored == counted, "Q10", lambda: f"{stored} instead of {counted}: {new}")

    def _members(self) -> dict[str, Member]:
        return {name: member for rows in self.store.sessions.values() for name, member in rows.items()}

    def expire_session(self, queue: QueueKey, session: str, at: int) -> None:
        """The table's time to live."""
        members = self._members()
        self.earlier.append((at, list(members.values())))
        del self.store.sessions[queue][session]
        self._judge_sessions("", members)

    def _judge_sessions(self, request: str, before: dict[str, Member]) -> None:
        after = self._members()
        began = after.keys() - before.keys()
        require(
            not began or request == "enter", "Q9", lambda: f"{request} began the sessions {sorted(began)}"
        )
        self.ended_sessions |= {name for name, member in after.items() if not member.live}
        self.ended_sessions |= before.keys() - after.keys()
        for name, member in after.items():
            was = before.get(name)
            if was is not None and not was.live:
                require(not member.live, "Q9", lambda name=name: f"session {name} came back")
                require(
                    member.heartbeats == was.heartbeats,
                    "Q9",
                    lambda name=name: f"the dead session {name} beat",
                )


def _changes(before: dict[JobKey, Job], after: dict[JobKey, Job]) -> Iterable[tuple[Job | None, Job | None]]:
    """Each job that is not what it was, before and after."""
    if len(before) == len(after):  # the same keys in the same order
        pairs: Iterable[tuple[Job | None, Job | None]] = zip(before.values(), after.values(), strict=True)
    else:
        pairs = ((before.get(key), after.get(key)) for key in before.keys() | after.keys())
    return [(old, new) for old, new in pairs if old is not new]
