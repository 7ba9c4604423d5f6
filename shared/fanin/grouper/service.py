"""The use cases of the group-batcher: register, lead, handle, sweep and read. Each is safe to repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fanin.errors import FaninError, NotFound
from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.downstream import Downstream
from fanin.grouper.rules.ids import checked_bundle_id, checked_limit, checked_target, checked_task_id
from fanin.grouper.rules.messages import BundleMessage, TaskMessage
from fanin.grouper.rules.model import (
    Bundle,
    BundleKey,
    Lane,
    NewTask,
    Status,
    Task,
    TaskKey,
    TaskState,
)
from fanin.grouper.rules.notifying import Notifier, OnFailed
from fanin.grouper.store import Page
from fanin.grouper.use_cases.handling import Handled, Handler
from fanin.grouper.use_cases.leading import Leader, LeadResult
from fanin.grouper.use_cases.registering import Registrar
from fanin.grouper.use_cases.sweeping import Sweeper, Swept
from fanin.grouper.world import World

if TYPE_CHECKING:
    from fanin.grouper.listing import TaskList
    from fanin.grouper.targets import TargetView


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

    def register_all(self, tenant: str, new_tasks: Sequence[NewTask]) -> list[Task | FaninError]:
        """Register each task by itself; see Registrar.register_all."""
        return Registrar(self.world, self.target_of).register_all(tenant, new_tasks)

    def lead(self, message: TaskMessage) -> LeadResult:
        """Process a task's message; see Leader.lead."""
        return Leader(self.world).lead(message)

    def put_off(self, message: TaskMessage) -> LeadResult:
        """Send a task's message again, delayed; see Leader.put_off."""
        return Leader(self.world).put_off(message)

    def handle(
        self,
        message: BundleMessage,
        downstream: Downstream,
        notifier: Notifier,
        on_failed: OnFailed | None = None,
    ) -> Handled:
        """Process a bundle's message; see Handler.handle. *on_failed*: called with a bundle that fails."""
        return Handler(self.world, downstream, notifier, on_failed).handle(message)

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
        return rules.status_of(task, self.world.store.bundle(BundleKey(task.tenant, task.bundle_id)))

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

    def tasks(self, tenant: str, target: str) -> TaskList:
        """Return the lists of a target's tasks."""
        from fanin.grouper.listing import TaskList  # noqa: PLC0415  # a consumer lists nothing

        return TaskList(self.world, tenant, checked_target(target))

    def targets(self, tenant: str, limit: int = 20, cursor: str | None = None) -> Page[TargetView]:
        """Return a page of the tenant's targets, by name; see targets.page."""
        from fanin.grouper import targets  # noqa: PLC0415  # a consumer lists nothing

        return targets.page(self.world, tenant, checked_limit(limit), cursor)

    def bundles(
        self, tenant: str, target: str, shard: int = 0, limit: int = 100, cursor: str | None = None
    ) -> Page[BundleKey]:
        """Return a page of the bundles of a target's shard, the newest first, from an index."""
        lane = Lane(tenant, checked_target(target), str(shard))
        return self.world.store.bundles_of(lane, checked_limit(limit), cursor)
