"""The use cases of the group-batcher: register, lead, handle, sweep and read. Each is safe to repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from fanin.errors import InvalidRequest, NotFound
from fanin.grouper.downstream import Downstream
from fanin.grouper.handling import Handled, Handler
from fanin.grouper.ids import checked_bundle_id, checked_target, checked_task_id
from fanin.grouper.leading import Leader, LeadResult
from fanin.grouper.messages import BundleMessage, TaskMessage
from fanin.grouper.model import (
    Bundle,
    BundleKey,
    BundleState,
    Candidate,
    Lane,
    NewTask,
    Task,
    TaskKey,
    TaskState,
)
from fanin.grouper.notifying import Notifier
from fanin.grouper.registering import Registrar
from fanin.grouper.store import Page
from fanin.grouper.sweeping import Sweeper, Swept
from fanin.grouper.world import World

LIMIT_MAX = 1000


class Status(StrEnum):
    """A task's state as the API reports it; IN_PROGRESS is derived from the bundle and never stored."""

    CREATED = "CREATED"
    BUNDLED = "BUNDLED"
    IN_PROGRESS = "IN_PROGRESS"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    DEAD = "DEAD"


@dataclass(frozen=True, slots=True)
class Grouper:
    """Groups tasks of one target into bundles, one call of a batch API each.

    *target_of* computes the target of a new task that has none.
    """

    world: World
    target_of: Callable[[NewTask], str] | None = field(default=None)

    def register(self, tenant: str, new_task: NewTask) -> Task:
        """Register a task; see Registrar.register."""
        return Registrar(self.world, self.target_of).register(tenant, new_task)

    def lead(self, message: TaskMessage) -> LeadResult:
        """Process a task's message; see Leader.lead."""
        return Leader(self.world).lead(message)

    def put_off(self, message: TaskMessage) -> LeadResult:
        """Send a task's message again, delayed; see Leader.put_off."""
        return Leader(self.world).put_off(message)

    def handle(self, message: BundleMessage, downstream: Downstream, notifier: Notifier) -> Handled:
        """Process a bundle's message; see Handler.handle."""
        return Handler(self.world, downstream, notifier).handle(message)

    def sweep(self, has_time: Callable[[], bool] = lambda: True) -> Swept:
        """Resend what is overdue; see Sweeper.sweep. *has_time*: whether more may be read."""
        return Sweeper(self.world, has_time).sweep()

    def task(self, tenant: str, task_id: str) -> Task:
        """Return the task; raise NotFound if it is not stored or has expired."""
        task = self.world.store.task(TaskKey(tenant, checked_task_id(task_id)))
        if task is None or task.expired(self.world.now()):
            raise NotFound(f"there is no task {task_id}")
        return task

    def status(self, task: Task) -> Status:
        """Return the state that the API reports for *task*; reads the bundle of a bundled one."""
        if task.state is not TaskState.BUNDLED or task.bundle_id is None:
            return Status(task.state)
        bundle = self.world.store.bundle(BundleKey(task.tenant, task.bundle_id))
        called = bundle and bundle.state in {BundleState.CALLING, BundleState.APPLYING}
        return Status.IN_PROGRESS if called else Status.BUNDLED

    def bundle(self, tenant: str, bundle_id: str) -> Bundle:
        """Return the bundle; raise NotFound if it is not stored or has expired."""
        found = self.bundles_at([BundleKey(tenant, checked_bundle_id(bundle_id))])
        if not found:
            raise NotFound(f"there is no bundle {bundle_id}")
        return found[0]

    def bundles_at(self, keys: Iterable[BundleKey]) -> list[Bundle]:
        """Return those of the bundles that are stored, have members and have not expired."""
        found = [self.world.store.bundle(key) for key in keys]
        now = self.world.now()
        return [each for each in found if each and not each.is_void and not each.expired(now)]

    def open_tasks(self, tenant: str, target: str, limit: int = 100) -> list[Candidate]:
        """Return the tasks of a target that wait for a bundle, up to *limit* of each shard, from an index.

        The index does not hold the time of expiry: a task that is due for longer than the retention of
        pending tasks is left out.
        """
        shards = self.world.policies.of(checked_target(target)).shards
        lanes = [Lane(tenant, target, str(shard)) for shard in range(shards)]
        found = [task for lane in lanes for task in self.world.store.candidates(lane, _checked(limit))]
        oldest = self.world.now() - self.world.timing.pending
        return [task for task in found if task.due_at > oldest]

    def bundles(
        self, tenant: str, target: str, shard: int = 0, limit: int = 100, cursor: str | None = None
    ) -> Page[BundleKey]:
        """Return a page of the bundles of a target's shard, the newest first, from an index."""
        lane = Lane(tenant, checked_target(target), str(shard))
        return self.world.store.bundles_of(lane, _checked(limit), cursor)


def _checked(limit: int) -> int:
    if not 1 <= limit <= LIMIT_MAX:
        raise InvalidRequest(f"limit must be 1 to {LIMIT_MAX}", field="limit")
    return limit
