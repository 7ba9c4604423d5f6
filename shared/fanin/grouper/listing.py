"""Lists of tasks and targets, page by page. Each page reads a bounded number of rows, so it may be short.

Pages come from indexes, so the lists are eventually consistent; what they say of a task or a bundle comes
from its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.ids import checked_limit
from fanin.grouper.rules.model import Bundle, BundleKey, Candidate, Lane, Status, Task, TaskKey, TaskState
from fanin.grouper.world import World

BUNDLES_A_PAGE = 10
TASKS_A_PAGE = 100
"""Rows of bundles, and of tasks, that one page of bundled tasks reads at most."""


@dataclass(frozen=True, slots=True)
class WaitingPlace:
    """A position in the waiting tasks of a target: after the task at *order* in a shard, or its start."""

    shard: int = 0
    order: str | None = None


@dataclass(frozen=True, slots=True)
class BundledPlace:
    """A position in the bundles of a target: in a shard, those below *fence*, the first from *member* on."""

    shard: int = 0
    fence: int | None = None
    member: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """A task in a list. *bundle_id* and *detail*: of a task that was bundled."""

    task_id: str
    status: Status
    due_at: datetime
    bundle_id: str | None = None
    detail: str = ""

    @classmethod
    def of(cls, task: Task, status: Status) -> Listed:
        return cls(task.task_id, status, task.due_at, task.bundle_id, task.detail)


@dataclass(frozen=True, slots=True)
class TaskList:
    """The tasks of one target of a tenant, in lists."""

    world: World
    tenant: str
    target: str

    @property
    def shards(self) -> int:
        return self.world.policies.of(self.target).shards

    def waiting(self, limit: int, place: WaitingPlace) -> tuple[list[Listed], WaitingPlace | None]:
        """Return up to *limit* tasks that wait for a bundle, and where the next page begins."""
        checked_limit(limit)
        oldest = self.world.now() - self.world.timing.pending
        found: list[Listed] = []
        for shard in range(place.shard, self.shards):
            order = place.order if shard == place.shard else None
            page = self.world.store.waiting(self._lane(shard), limit - len(found), order)
            found += [_waiting(each) for each in page.rows if each.due_at > oldest]
            if page.cursor is not None:
                return found, WaitingPlace(shard, page.cursor)
            if len(found) == limit:
                return found, WaitingPlace(shard + 1) if shard + 1 < self.shards else None
        return found, None

    def bundled(
        self, wanted: Status, limit: int, place: BundledPlace
    ) -> tuple[list[Listed], BundledPlace | None]:
        """Return up to *limit* tasks in a state after CREATED, those of the newest bundles first.

        A task is listed with the bundle that it is in, or that it was in at its end; a task of a divided
        bundle with that bundle. Returns also where the next page begins.
        """
        lane = self._lane(place.shard)
        checked_limit(limit)
        page = self.world.store.bundles_of(lane, BUNDLES_A_PAGE, _text(place.fence))
        members = list(islice(self._members(page.rows, wanted, place), TASKS_A_PAGE))
        stored = self.world.store.tasks([TaskKey(self.tenant, each.task_id) for each in members])
        found: list[Listed] = []
        for each in members:
            task = stored.get(TaskKey(self.tenant, each.task_id))
            found += [Listed.of(task, wanted)] if self._fits(task, each.bundle, wanted) and task else []
            if len(found) == limit:
                return found, each.following(place)
        if len(members) == TASKS_A_PAGE:
            return found, members[-1].following(place)
        return found, self._after(place, page.cursor)

    def _members(self, keys: Sequence[BundleKey], wanted: Status, place: BundledPlace) -> Iterator[Member]:
        """Yield the members that may be in the state *wanted*; reads each bundle when it is reached."""
        now = self.world.now()
        for key in keys:
            bundle = self.world.store.bundle(key)
            if bundle is None or bundle.is_void or bundle.expired(now):
                continue
            first = place.member if bundle.fence + 1 == place.fence else 0
            for number in range(first, len(bundle.members)):
                if rules.may_be(bundle, number, wanted):
                    yield Member(bundle, number)

    def _fits(self, task: Task | None, bundle: Bundle, wanted: Status) -> bool:
        """Whether *task* is in the state *wanted*, and is listed with *bundle*."""
        if task is None or task.target != self.target or task.expired(self.world.now()):
            return False
        if task.bundle_id == bundle.bundle_id:
            return rules.status_of(task, bundle) is wanted
        # A part of a divided bundle is in no list of its own.
        return task.lane.is_part and bundle.lane.shard != task.shard and self._status(task) is wanted

    def _status(self, task: Task) -> Status:
        key = BundleKey(task.tenant, task.bundle_id or "")
        is_bundled = task.state is TaskState.BUNDLED
        return rules.status_of(task, self.world.store.bundle(key) if is_bundled else None)

    def _after(self, place: BundledPlace, cursor: str | None) -> BundledPlace | None:
        if cursor is not None:
            return BundledPlace(place.shard, int(cursor))
        return BundledPlace(place.shard + 1) if place.shard + 1 < self.shards else None

    def _lane(self, shard: int) -> Lane:
        return Lane(self.tenant, self.target, str(shard))


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a bundle by its number."""

    bundle: Bundle
    number: int

    @property
    def task_id(self) -> str:
        return self.bundle.members[self.number]

    def following(self, place: BundledPlace) -> BundledPlace:
        """Return the position after this member."""
        return BundledPlace(place.shard, self.bundle.fence + 1, self.number + 1)


def _waiting(candidate: Candidate) -> Listed:
    return Listed(candidate.task_id, Status.CREATED, candidate.due_at)


def _text(fence: int | None) -> str | None:
    return None if fence is None else str(fence)
