"""The store in dictionaries of this process: for tests, and for the simulator."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from fanin.errors import StaleWrite
from fanin.index_order import tied
from fanin.queue.rules import lifecycle, order
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.key_rows import Check
from fanin.queue.rules.keys import JobKey, PartKey, QueueKey
from fanin.queue.rules.model import Dead, Entry, GivenBack, Job, JobState, Member, OutboxEntry, Rerun
from fanin.queue.rules.order import IndexKey, IndexRange
from fanin.queue.store import Write


@dataclass
class MemoryStore:
    """Stores queues in this process; one lock makes each request atomic.

    *written*: the users' writes, in the order in which they were applied; *admits*: their conditions.
    """

    stored: dict[JobKey, Job] = field(default_factory=dict)
    dead_jobs: dict[QueueKey, dict[str, Dead]] = field(default_factory=dict)
    outboxes: dict[QueueKey, dict[str, OutboxEntry]] = field(default_factory=dict)
    sessions: dict[QueueKey, dict[str, Member]] = field(default_factory=dict)
    configs: dict[QueueKey, QueueConfig] = field(default_factory=dict)
    changes: dict[QueueKey, int] = field(default_factory=dict)
    written: list[Write] = field(default_factory=list)
    admits: Callable[[Write], bool] = lambda _: True
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def config(self, queue: QueueKey) -> QueueConfig | None:
        with self.lock:
            return self.configs.get(queue)

    def create(self, queue: QueueKey, config: QueueConfig) -> QueueConfig:
        with self.lock:
            return self.configs.setdefault(queue, config)

    def reconfigure(self, queue: QueueKey, config: QueueConfig) -> QueueConfig | None:
        with self.lock:
            seen = self.configs.get(queue)
            if seen is not None and seen.revision == config.revision - 1:
                self.configs[queue] = config
            return self.configs.get(queue)

    def add(self, job: Job, over: Job | None, check: Check | None = None) -> Job | None:
        with self.lock:
            if lifecycle.may_be_added(self.stored.get(job.key), over) and self._holds(check):
                self._put(job)
            return self.stored.get(job.key)

    def collide(self, seen: Job) -> None:
        with self.lock:
            job = self.stored.get(seen.key)
            if job is not None and job.id == seen.id and job.is_live:
                self._put(replace(job, collisions=job.collisions + 1))

    def rerun(self, seen: Job, rerun: Rerun) -> Job | None:
        with self.lock:
            job = self.stored.get(seen.key)
            if job is not None and lifecycle.may_be_rerun(job, seen):
                job = self._put(lifecycle.rerun_requested(job, rerun))
            return job

    def get(self, key: JobKey) -> Job | None:
        with self.lock:
            return self.stored.get(key)

    def ready(self, part: PartKey, limit: int) -> Sequence[Entry]:
        return self._entries(part, order.READY)[:limit]

    def claim(self, seen: Entry, session: str, claim: str, at: int) -> Job | None:
        with self.lock:
            job = self.stored.get(seen.key)
            if job is not None and lifecycle.may_be_claimed(job, seen):
                job = self._put(lifecycle.claimed(job, session, claim, at))
            return job if job is not None and job.claim == claim else None

    def give_back(self, seen: Entry, release: GivenBack) -> bool:
        with self.lock:
            job = self.stored.get(seen.key)
            if job is None or seen.claim is None or job.claim != seen.claim:
                return False
            self._put(lifecycle.given_back(job, release))
            return True

    def end(self, job: Job, at: int, writes: Sequence[Write] = (), dead: Dead | None = None) -> Job | None:
        with self.lock:
            now = self.stored.get(job.key)
            if now is None or not lifecycle.may_be_ended(now, job):
                return now
            if not all(self.admits(write) for write in writes):
                raise StaleWrite("a condition of the writes failed")
            self.written.extend(writes)
            if dead is not None:
                self.dead_jobs.setdefault(job.key.part.queue, {})[dead.record] = dead
            entry = lifecycle.outbox_entry(job, dead)
            if entry is not None:
                self.outboxes.setdefault(job.key.part.queue, {})[entry.ending] = entry
            return self._put(lifecycle.ended(now, at))

    def promote(self, seen: Entry, at: int) -> bool:
        with self.lock:
            job = self.stored.get(seen.key)
            if job is None or (job.state, job.ix, job.id) != (JobState.DELAYED, seen.ix, seen.job_id):
                return False
            self._put(lifecycle.promoted(job, at))
            return True

    def outstanding(self, part: PartKey, now: int) -> Sequence[Entry]:
        due = order.delayed(now)
        return [*self._entries(part, order.BUSY), *(e for e in self._entries(part, "2#") if e.ix <= due)]

    def claims_of(self, part: PartKey, session: str) -> Sequence[Entry]:
        return self._entries(part, order.busy_of(session))

    def outbox(self, part: PartKey) -> Sequence[OutboxEntry]:
        with self.lock:
            entries = sorted(self.outboxes.get(part.queue, {}).values(), key=lambda entry: entry.ending)
            return [entry for entry in entries if entry.part == part.number]

    def has_outbox(self, part: PartKey) -> bool:
        return bool(self.outbox(part))

    def delete_outbox_entry(self, queue: QueueKey, entry: OutboxEntry) -> None:
        with self.lock:
            if self.outboxes.get(queue, {}).get(entry.ending) == entry:
                del self.outboxes[queue][entry.ending]

    def jobs(self, part: PartKey, state: JobState, limit: int) -> Sequence[Job]:
        return [job for job in self._jobs(part, "") if job.state is state][:limit]

    def first(self, part: PartKey, limit: int) -> Sequence[Entry]:
        return self._entries(part, "")[:limit]

    def count(self, part: PartKey, state: JobState, limit: int) -> int:
        return min(limit, sum(job.state is state for job in self._jobs(part, "")))

    def count_dead(self, part: PartKey, limit: int) -> int:
        return len(self._dead(part)[:limit])

    def remove(self, seen: Job, entries: Sequence[OutboxEntry]) -> bool:
        with self.lock:
            if not lifecycle.is_unchanged(self.stored.get(seen.key), seen):
                return False
            del self.stored[seen.key]
            stored = self.outboxes.setdefault(seen.key.part.queue, {})
            stored.update({entry.ending: entry for entry in entries})
            return True

    def remove_dead(self, dead: Dead) -> bool:
        with self.lock:
            return self.dead_jobs.get(dead.job.key.part.queue, {}).pop(dead.record, None) is not None

    def delete(self, seen: Job, entries: Sequence[OutboxEntry], at: int, deletion: str) -> Job | None:
        with self.lock:
            stored = self.stored.get(seen.key)
            if stored is None or not lifecycle.may_be_deleted(stored, seen):
                return stored
            outbox = self.outboxes.setdefault(seen.key.part.queue, {})
            outbox.update({entry.ending: entry for entry in entries})
            return self._put(lifecycle.deleted(stored, at, deletion))

    def job_keys(self, part: PartKey, within: IndexRange, limit: int) -> Sequence[IndexKey]:
        return _within(within, ((job.ix, job.key.sort) for job in self._jobs(part, "")), limit)

    def dead_keys(self, part: PartKey, within: IndexRange, limit: int) -> Sequence[IndexKey]:
        rows = ((order.dead(dead.died_us), dead.record) for dead in self._dead(part))
        return _within(within, rows, limit)

    def jobs_at(self, keys: Sequence[JobKey]) -> Sequence[Job]:
        with self.lock:
            return [self.stored[key] for key in keys if key in self.stored]

    def dead_at(self, records: Sequence[tuple[PartKey, str]]) -> Sequence[Dead | None]:
        found = {part: {dead.record: dead for dead in self._dead(part)} for part, _ in records}
        return [found[part].get(record) for part, record in records]

    def dead(self, part: PartKey, limit: int) -> Sequence[Dead]:
        return self._dead(part)[:limit]

    def revive(self, dead: Dead, job: Job, over: Job | None, check: Check | None = None) -> Job | None:
        with self.lock:
            records = self.dead_jobs.get(job.key.part.queue, {})
            may_be_added = lifecycle.may_be_added(self.stored.get(job.key), over) and self._holds(check)
            if dead.record in records and may_be_added:
                del records[dead.record]
                self._put(job)
            return self.stored.get(job.key)

    def page(self, part: PartKey, after: str, limit: int) -> tuple[Sequence[Job], str | None]:
        with self.lock:
            mine = [job for key, job in self.stored.items() if key.part == part and key.sort > after]
        found = sorted(mine, key=lambda job: job.key.sort)[:limit]
        return found, found[-1].key.sort if len(found) < len(mine) else None

    def move(self, seen: Job, job: Job, over: Job | None, at: int) -> bool:
        with self.lock:
            if not lifecycle.may_be_moved(self.stored.get(seen.key), seen):
                return False
            if not lifecycle.may_be_added(self.stored.get(job.key), over):
                return False
            self._put(lifecycle.moved_mark(seen, at))
            self._put(job)
            return True

    def enter(self, queue: QueueKey, member: Member) -> None:
        with self.lock:
            self.sessions.setdefault(queue, {}).setdefault(member.id, member)

    def beat(self, queue: QueueKey, session: str, expires_us: int) -> bool:
        with self.lock:
            member = self._members(queue).get(session)
            if member is None or not member.live:
                return False
            beats = member.heartbeats + 1
            self._members(queue)[session] = replace(member, heartbeats=beats, expires_us=expires_us)
            return True

    def members(self, queue: QueueKey) -> Sequence[Member]:
        with self.lock:
            return list(self._members(queue).values())

    def members_after(self, queue: QueueKey, after: str | None, limit: int) -> Sequence[Member]:
        with self.lock:
            later = sorted(each for each in self._members(queue) if after is None or each > after)
            return [self._members(queue)[session] for session in later[:limit]]

    def some_members(self, queue: QueueKey, ids: Sequence[str]) -> Sequence[Member]:
        with self.lock:
            rows = self._members(queue)
            return [rows[session] for session in ids if session in rows]

    def peek(self, queue: QueueKey, ids: Sequence[str] | None) -> Sequence[Member]:
        with self.lock:
            rows = self._members(queue)
            return [rows[session] for session in (rows if ids is None else ids) if session in rows]

    def peek_config(self, queue: QueueKey) -> tuple[int, int]:
        with self.lock:
            config = self.configs.get(queue)
            return (-1, 0) if config is None else (config.revision, self.changes.get(queue, 0))

    def count_change(self, queue: QueueKey) -> None:
        with self.lock:
            if queue in self.configs:
                self.changes[queue] = self.changes.get(queue, 0) + 1

    def end_session(self, queue: QueueKey, session: str, heartbeats: int | None) -> bool:
        with self.lock:
            member = self._members(queue).get(session)
            if member is None or not member.live:
                return True
            if heartbeats not in {None, member.heartbeats}:
                return False
            self._members(queue)[session] = replace(member, live=False)
            return True

    def forget(self, queue: QueueKey, session: str) -> None:
        with self.lock:
            member = self._members(queue).get(session)
            if member is not None and not member.live:
                del self._members(queue)[session]

    def _holds(self, check: Check | None) -> bool:
        return check is None or lifecycle.may_be_added(self.stored.get(check.key), check.seen)

    def _put(self, job: Job) -> Job:
        self.stored[job.key] = job
        return job

    def _dead(self, part: PartKey) -> list[Dead]:
        with self.lock:
            found = self.dead_jobs.get(part.queue, {}).values()
            mine = [dead for dead in found if dead.job.key.part == part]
        return sorted(mine, key=lambda dead: (dead.died_us, tied(dead.record)))

    def _members(self, queue: QueueKey) -> dict[str, Member]:
        return self.sessions.setdefault(queue, {})

    def _jobs(self, part: PartKey, prefix: str) -> list[Job]:
        with self.lock:
            mine: Iterable[Job] = [job for job in self.stored.values() if job.key.part == part]
        listed = [(job.ix, job) for job in mine if job.ix is not None and job.ix.startswith(prefix)]
        return [job for _, job in sorted(listed, key=lambda row: (row[0], tied(row[1].key.sort)))]

    def _entries(self, part: PartKey, prefix: str) -> list[Entry]:
        return [lifecycle.entry_of(job) for job in self._jobs(part, prefix)]


def _within(within: IndexRange, rows: Iterable[tuple[str | None, str]], limit: int) -> list[IndexKey]:
    keys = sorted((ix, tied(sort)) for ix, sort in rows if ix is not None and within.low <= ix <= within.high)
    after = () if within.after is None else (within.low, tied(within.after))
    return [IndexKey(ix, sort) for ix, (_, sort) in keys if (ix, (_, sort)) > after][:limit]
