"""A store in dictionaries, for tests and the simulator."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from fanin.errors import StoreUnavailable
from fanin.grouper.rules.model import (
    Bundle,
    BundleKey,
    BundleState,
    Candidate,
    Lane,
    Lease,
    Task,
    TaskKey,
    TaskState,
)
from fanin.grouper.rules.order import order_of
from fanin.grouper.store import Claim, Page
from fanin.index_order import tied


@dataclass
class MemoryStore:
    """A GrouperStore in this process. One lock makes each request atomic."""

    stored_tasks: dict[TaskKey, Task] = field(default_factory=dict)
    leases: dict[Lane, Lease] = field(default_factory=dict)
    bundles: dict[BundleKey, Bundle] = field(default_factory=dict)
    buckets: dict[Lane, datetime] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def create(self, task: Task) -> Task:
        with self.lock:
            stored = self.stored_tasks.get(task.key)
            if stored is None or stored.expired(task.created_at):
                self.write_task(task)
            return self.stored_tasks[task.key]

    def task(self, key: TaskKey) -> Task | None:
        with self.lock:
            return self.stored_tasks.get(key)

    def tasks(self, keys: Collection[TaskKey]) -> Mapping[TaskKey, Task]:
        with self.lock:
            return {key: self.stored_tasks[key] for key in keys if key in self.stored_tasks}

    def settle(self, task: Task, bundle_id: str) -> Task | None:
        with self.lock:
            stored = self.stored_tasks.get(task.key)
            if stored and stored.state is TaskState.BUNDLED and stored.bundle_id == bundle_id:
                self.write_task(task)
            return self.stored_tasks.get(task.key)

    def lease(self, lane: Lane) -> Lease | None:
        with self.lock:
            return self.leases.get(lane)

    def put_lease(self, seen: Lease | None, wanted: Lease) -> Lease:
        with self.lock:
            stored = self.leases.get(wanted.lane)
            if _term(stored) == _term(seen):
                self.write_lease(wanted)
            elif stored is None:
                raise StoreUnavailable("the row of the lease was deleted during the write; retry")
            return self.leases[wanted.lane]

    def claim(self, bundle: Bundle, joining: tuple[str, ...]) -> Claim:
        with self.lock:
            stored = self.bundles.get(bundle.key)
            refused = frozenset(name for name in joining if not self._may_join(bundle, name))
            if refused or not _precedes(stored, bundle):
                return Claim(stored, refused)
            self.write_bundle(bundle)
            for name in joining:
                self._bundle_task(TaskKey(bundle.tenant, name), bundle)
            return Claim(bundle)

    def seal(self, bundle: Bundle) -> Bundle:
        with self.lock:
            stored = self.bundles.get(bundle.key)
            if stored is None:
                void = replace(bundle, members=(), version=0, state=BundleState.OPEN)
                self.write_bundle(void.transition(BundleState.READY))
            elif stored.state is BundleState.OPEN:
                self.write_bundle(stored.transition(BundleState.READY))
            return self.bundles[bundle.key]

    def bundle(self, key: BundleKey) -> Bundle | None:
        with self.lock:
            return self.bundles.get(key)

    def replace_bundle(self, bundle: Bundle) -> Bundle:
        with self.lock:
            stored = self.bundles.get(bundle.key)
            if stored is None:
                raise StoreUnavailable("the row of the bundle was deleted during the write; retry")
            if stored.version == bundle.version - 1:
                self.write_bundle(bundle)
            return self.bundles[bundle.key]

    def full_at(self, lane: Lane) -> datetime | None:
        with self.lock:
            return self.buckets.get(lane)

    def put_full_at(self, lane: Lane, seen: datetime | None, wanted: datetime) -> bool:
        with self.lock:
            if self.buckets.get(lane) != seen:
                return False
            self.buckets[lane] = wanted
            return True

    def candidates(self, lane: Lane, limit: int) -> Sequence[Candidate]:
        with self.lock:
            return [_candidate(task) for task in self._open() if task.lane == lane][:limit]

    def waiting(self, lane: Lane, limit: int, after: str | None) -> Page[Candidate]:
        with self.lock:
            tasks = [t for t in self._open() if t.lane == lane and (after is None or order_of(t) > after)]
            more = order_of(tasks[limit - 1]) if len(tasks) > limit else None
            return Page([_candidate(task) for task in tasks[:limit]], more)

    def targets_of(self, tenant: str, limit: int, after: str | None) -> Page[str]:
        with self.lock:
            names = {lane.target for lane in self.leases if lane.tenant == tenant and not lane.is_part}
            rows = sorted(name for name in names if after is None or name > after)
            return Page(rows[:limit], rows[limit - 1] if len(rows) > limit else None)

    def open_tasks(self, cursor: str | None) -> Page[Candidate]:
        del cursor  # all rows are one page
        with self.lock:
            tasks = sorted(self._open(), key=lambda task: tied(task.lane))
            return Page([_candidate(task) for task in tasks])

    def live(self, before: datetime, cursor: str | None) -> Page[BundleKey]:
        del cursor  # all rows are one page
        with self.lock:
            found = [b for b in self.shown_bundles() if _is_live(b) and b.created_at < before]
            return Page([b.key for b in sorted(found, key=lambda b: (b.created_at, tied(b.key)))])

    def bundles_of(self, lane: Lane, limit: int, cursor: str | None) -> Page[BundleKey]:
        with self.lock:
            older = [b for b in self.shown_bundles() if b.lane == lane and not b.is_void]
            if cursor is not None:
                older = [b for b in older if b.fence < int(cursor)]
            rows = sorted(older, key=lambda b: -b.fence)
            more = str(rows[limit - 1].fence) if len(rows) > limit else None
            return Page([b.key for b in rows[:limit]], more)

    def shown_tasks(self) -> Collection[Task]:
        """Return the tasks that the index shows; the simulator overrides it with an index that lags."""
        return self.stored_tasks.values()

    def shown_bundles(self) -> Collection[Bundle]:
        """Return the bundles that the index shows."""
        return self.bundles.values()

    def write_task(self, task: Task) -> None:
        self.stored_tasks[task.key] = task

    def write_lease(self, lease: Lease) -> None:
        self.leases[lease.lane] = lease

    def write_bundle(self, bundle: Bundle) -> None:
        self.bundles[bundle.key] = bundle

    def _bundle_task(self, key: TaskKey, bundle: Bundle) -> None:
        task = replace(self.stored_tasks[key], state=TaskState.BUNDLED, bundle_id=bundle.bundle_id)
        self.write_task(replace(task, expires_at=bundle.expires_at))

    def _may_join(self, bundle: Bundle, name: str) -> bool:
        task = self.stored_tasks.get(TaskKey(bundle.tenant, name))
        return task is not None and task.may_join(bundle)

    def _open(self) -> list[Task]:
        return sorted((t for t in self.shown_tasks() if t.state is TaskState.CREATED), key=order_of)


def _term(lease: Lease | None) -> tuple[int, str | None] | None:
    return (lease.fence, lease.holder) if lease else None


def _precedes(stored: Bundle | None, bundle: Bundle) -> bool:
    """Whether *stored* is OPEN at the version before *bundle*; for version 1, whether none is stored."""
    if stored is None:
        return bundle.version == 1
    return stored.state is BundleState.OPEN and stored.version == bundle.version - 1


def _candidate(task: Task) -> Candidate:
    return Candidate(task.lane, task.task_id, task.due_at)


def _is_live(bundle: Bundle) -> bool:
    return not bundle.is_void and not bundle.state.ended
