"""The store, with every applied write held against the invariants, and with indexes that lag behind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from heapq import heappop, heappush
from random import Random
from typing import Any

from fanin.grouper import Bundle, BundleKey, BundleState, Lane, Lease, Task, TaskKey, TaskState
from fanin.grouper.memory import MemoryStore
from tests.simulating.violation import require
from tests.simulation_grouper.scenario import Scenario
from tests.simulation_grouper.transitions import (
    TASK_TRANSITIONS,
    check_applied,
    check_attempt,
    check_transition,
)

EXPECTING = {BundleState.OPEN, BundleState.READY, BundleState.CALLING}


class Referee(MemoryStore):
    """A MemoryStore that refuses to break a promise.

    *sender*, *request*: who sent the request that is applied, and its name. *callers*: who took a bundle, by
    its owner. *reported*: the endings that were reported.
    """

    def __init__(self, scenario: Scenario, random: Random, at: Callable[[], datetime]) -> None:
        super().__init__()
        self.sender = self.request = ""
        self.version = 0
        self.at = at
        self.leaders: dict[tuple[Lane, int], str] = {}
        self.tokens: dict[Lane, list[datetime]] = defaultdict(list)
        self.lagging: list[tuple[datetime, int, Any, Any]] = []
        self.sealed: dict[BundleKey, tuple[str, ...]] = {}
        self.known_bundles: dict[BundleKey, Bundle] = {}
        self.endings: set[Task] = set()
        self.reported: dict[tuple[TaskKey, datetime], TaskState] = {}
        self.callers: dict[str, str] = {}
        self.joined: dict[tuple[BundleKey, str], str] = {}
        self.seen_tasks: dict[tuple[TaskKey, datetime], Task] = {}
        self._scenario, self._random = scenario, random
        self._view_tasks: dict[TaskKey, Task] = {}
        self._view_bundles: dict[BundleKey, Bundle] = {}
        self._due: dict[Any, datetime] = {}

    def apply(self, sender: str, name: str, args: tuple[Any, ...]) -> Any:
        """Carry a request out, and look whether all fits together."""
        self.sender, self.request = sender, name
        before = self.version
        answer = getattr(self, name)(*args)
        if self.version != before:
            self.check()
        return answer

    def write_task(self, task: Task) -> None:
        old = self.stored_tasks.get(task.key)
        if old is not None and old.created_at != task.created_at:
            over = old.expired(task.created_at) and task.state is TaskState.CREATED
            require(over, "expiry", f"{task.task_id} was replaced before it expired")
        elif old is not None and old != task:
            require(not old.state.ended, "B5", f"{task.task_id} went from {old.state} to {task.state}")
            require(
                (old.state, task.state) in TASK_TRANSITIONS, "B5", f"{task.task_id}: {old.state}-{task.state}"
            )
            if task.state is TaskState.BUNDLED:
                self._check_due(old)
        super().write_task(task)
        self.seen_tasks[task.key, task.created_at] = task
        if task.bundle_id is not None:
            self.joined[BundleKey(task.tenant, task.bundle_id), task.task_id] = task.payload
        self.endings |= {task} if task.state.ended else set()
        self._wrote(task.key, task)

    def create(self, task: Task) -> Task:
        stored = super().create(task)
        require(
            not stored.expired(task.created_at), "expiry", f"{task.task_id} had expired, and was answered"
        )
        return stored

    def write_bundle(self, bundle: Bundle) -> None:
        old = self.bundles.get(bundle.key)
        check_transition(self.request, old, bundle)
        if old is not None and self.request == "replace_bundle":
            self._check_replaced(old, bundle)
        sealed = self.sealed.get(bundle.key)
        require(sealed in {None, bundle.members}, "B6", f"{sealed} became {bundle.members} after the seal")
        if bundle.state is not BundleState.OPEN:
            self.sealed.setdefault(bundle.key, bundle.members)
        require(len(bundle.members) <= self._scenario.policy.max_size, "B2", "a bundle is too large")
        require(len(set(bundle.members)) == len(bundle.members), "B2", "a task is twice in one bundle")
        require(bundle.attempt <= self._scenario.policy.max_attempts, "B4", "there were too many attempts")
        super().write_bundle(bundle)
        if bundle.members:
            self.known_bundles[bundle.key] = bundle
        self._wrote(bundle.key, bundle)

    def write_lease(self, lease: Lease) -> None:
        old = self.leases.get(lease.lane)
        term = (lease.lane, lease.fence)
        if lease.holder is None or (old is not None and old.holder == lease.holder):
            leader = self.leaders.get((lease.lane, old.fence)) if old else None
            require(leader == self.sender, "B9", f"{self.sender} moved the lease of {leader}")
        if lease.holder is not None:
            require(old is None or lease.fence > old.fence, "B9", "a fence did not rise")
            require(term not in self.leaders, "B9", "two leaders had one fence")
            self.leaders[term] = self.sender
        super().write_lease(lease)

    def put_full_at(self, lane: Lane, seen: datetime | None, wanted: datetime) -> bool:
        taken = super().put_full_at(lane, seen, wanted)
        if taken:
            self._check_rate(lane, wanted)
        return taken

    def shown_tasks(self) -> Collection[Task]:
        return self._view_tasks.values()

    def shown_bundles(self) -> Collection[Bundle]:
        return self._view_bundles.values()

    def catch_up(self) -> None:
        """Bring the indexes to where they are by now."""
        while self.lagging and self.lagging[0][0] <= self.at():
            self._show(*heappop(self.lagging)[2:])

    def delete_task(self, key: TaskKey) -> None:
        """The table's time to live."""
        del self.stored_tasks[key]
        self._wrote(key, None)

    def delete_bundle(self, key: BundleKey) -> None:
        """The table's time to live. Whoever seals it then puts a void one in its place."""
        del self.bundles[key]
        self.sealed.pop(key, None)
        self._wrote(key, None)

    def is_in(self, name: str, bundle: Bundle) -> bool:
        """Whether a member is stored as such: after its expiry it may be deleted, or registered anew."""
        task = self.stored_tasks.get(TaskKey(bundle.tenant, name))
        bundled = task is not None and task.state is TaskState.BUNDLED
        return bundled and task is not None and task.bundle_id == bundle.bundle_id

    def check(self) -> None:
        """B1 and B2, between any two requests."""
        for bundle in self.bundles.values():
            if bundle.state in EXPECTING and not bundle.expired(self.at() + self._apart()):
                self._check_members(bundle)
        for task in self.stored_tasks.values():
            if task.bundle_id is not None:
                bundle = self.known_bundles.get(BundleKey(task.tenant, task.bundle_id))
                require(
                    bundle and task.task_id in bundle.members, "B2", f"{task.task_id} is in no member list"
                )
                fits = bundle is not None and task.lane == bundle.lane
                require(fits, "B2", f"{task.task_id} came into another lane's bundle")

    def _apart(self) -> timedelta:
        """What two clocks are apart at most; the table's counts whole seconds."""
        return timedelta(seconds=2 * self._scenario.skew + 2)

    def _check_members(self, bundle: Bundle) -> None:
        for name in bundle.members:
            task = self.stored_tasks.get(TaskKey(bundle.tenant, name))
            is_in = task is not None and task.bundle_id == bundle.bundle_id
            require(is_in, "B1", f"{name} is not in its bundle, or in two")
            state = task.state if task else None
            require(state is TaskState.BUNDLED, "B2", f"{name} is {state} in a live bundle")

    def _check_replaced(self, old: Bundle, bundle: Bundle) -> None:
        """B4 and B8: one handler calls, until its lease is over by some clock; it stores the outcome."""
        fastest = self.at() + timedelta(seconds=self._scenario.skew)
        most = self._scenario.policy.max_attempts
        check_attempt(old, bundle, fastest, most)
        if bundle.state is BundleState.CALLING and bundle.owner != old.owner:
            self.callers[bundle.owner or ""] = self.sender
        if bundle.state.ended:
            check_applied(bundle, self.stored_tasks, self.reported)
        if old.state is BundleState.CALLING and self.callers.get(bundle.owner or "") != self.sender:
            over = old.call_until is None or fastest >= old.call_until
            require(over, "B4", "a bundle was changed by another while its call went on")
            gone = bundle.state is BundleState.APPLYING and old.attempt >= most
            require(gone, "B4", f"another took a bundle from {old.state} to {bundle.state}")

    def _check_due(self, task: Task) -> None:
        """No task is bundled before it is due as it is stored, by the fastest clock there is."""
        fastest = self.at() + timedelta(seconds=self._scenario.skew)
        require(task.due_at <= fastest, "early", f"{task.task_id} was bundled before it was due")

    def _check_rate(self, lane: Lane, wanted: datetime) -> None:
        """Tokens are an interval apart, and but for the burst none is given before its time."""
        policy, times = self._scenario.policy, self.tokens[lane]
        interval = timedelta(seconds=1 / (policy.rate or 1))
        require(not times or wanted - times[-1] >= interval, "rate", "two had one token")
        early = wanted - interval * policy.burst - self.at()
        require(early <= timedelta(seconds=self._scenario.skew), "rate", "a token was given too early")
        times.append(wanted)

    def _wrote(self, key: Any, row: Any) -> None:
        """The indexes see a write after a while, each item's writes in their order."""
        self.version += 1
        most, long = self._scenario.lag
        delay = self._random.random() * most
        if long and self._random.random() < long:
            delay = 2 + self._random.random() * 18
        if not delay:
            self._show(key, row)
            return
        due = max(self.at() + timedelta(seconds=delay), self._due.get(key, self.at()))
        self._due[key] = due
        heappush(self.lagging, (due, self.version, key, row))

    def _show(self, key: Any, row: Any) -> None:
        view: dict[Any, Any] = self._view_tasks if isinstance(key, TaskKey) else self._view_bundles
        if row is None:
            view.pop(key, None)
        else:
            view[key] = row
