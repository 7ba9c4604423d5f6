"""The group-batcher's use cases: register, lead, handle, sweep, look. Each is safe to repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from fanin.errors import InvalidRequest, NotFound
from fanin.grouper.downstream import Downstream
from fanin.grouper.handling import Handled, Handler
from fanin.grouper.ids import checked_bundle_id, checked_target, checked_task_id
from fanin.grouper.leading import Leader, Turn
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
from fanin.grouper.notices import Notifier
from fanin.grouper.registering import Registrar
from fanin.grouper.store import Page
from fanin.grouper.sweeping import Sweeper, Swept
from fanin.grouper.world import World

LIMIT_MAX = 1000


class Status(StrEnum):
    """A task's state as it is answered; IN_PROGRESS is seen from the bundle, and never stored."""

    CREATED = "CREATED"
    BUNDLED = "BUNDLED"
    IN_PROGRESS = "IN_PROGRESS"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    DEAD = "DEAD"


@dataclass(frozen=True, slots=True)
class Grouper:
    """Groups tasks of one target into bundles, one call of a batch API each."""

    world: World
    target_of: Callable[[NewTask], str] | None = field(default=None)

    def register(self, tenant: str, wish: NewTask) -> Task:
        """Take a task in; see Registrar.register."""
        return Registrar(self.world, self.target_of).register(tenant, wish)

    def lead(self, message: TaskMessage) -> Turn:
        """Answer a task's message; see Leader.lead."""
        return Leader(self.world).lead(message)

    def put_off(self, message: TaskMessage) -> Turn:
        """Have a task's message come again; see Leader.put_off."""
        return Leader(self.world).put_off(message)

    def handle(self, message: BundleMessage, downstream: Downstream, notifier: Notifier) -> Handled:
        """Answer a bundle's message; see Handler.handle."""
        return Handler(self.world, downstream, notifier).handle(message)

    def sweep(self, has_time: Callable[[], bool] = lambda: True) -> Swept:
        """Wake what nobody works on; see Sweeper.sweep. *has_time*: whether more may be read."""
        return Sweeper(self.world, has_time).sweep()

    def task(self, tenant: str, task_id: str) -> Task:
        """The task as it is stored; NotFound where there is none, or it has expired."""
        task = self.world.store.task(TaskKey(tenant, checked_task_id(task_id)))
        if task is None or task.expired(self.world.now()):
            raise NotFound(f"there is no task {task_id}")
        return task

    def status(self, task: Task) -> Status:
        """How far the task is; for a bundled one its bundle is read."""
        if task.state is not TaskState.BUNDLED or task.bundle_id is None:
            return Status(task.state)
        bundle = self.world.store.bundle(BundleKey(task.tenant, task.bundle_id))
        called = bundle and bundle.state in {BundleState.CALLING, BundleState.APPLYING}
        return Status.IN_PROGRESS if called else Status.BUNDLED

    def bundle(self, tenant: str, bundle_id: str) -> Bundle:
        """The bundle as it is stored; NotFound where there is none, or it has expired."""
        found = self.bundles_at([BundleKey(tenant, checked_bundle_id(bundle_id))])
        if not found:
            raise NotFound(f"there is no bundle {bundle_id}")
        return found[0]

    def bundles_at(self, keys: Iterable[BundleKey]) -> list[Bundle]:
        """Those of the bundles that are stored and have not expired."""
        found = [self.world.store.bundle(key) for key in keys]
        now = self.world.now()
        return [each for each in found if each and not each.is_void and not each.expired(now)]

    def open_tasks(self, tenant: str, target: str, limit: int = 100) -> list[Candidate]:
        """Tasks of a target that wait for a bundle, as an index shows them: *limit* of each shard.

        The index does not say when a task expires: one that waited for its whole time is left out.
        """
        shards = self.world.policies.of(checked_target(target)).shards
        lanes = [Lane(tenant, target, str(shard)) for shard in range(shards)]
        found = [task for lane in lanes for task in self.world.store.candidates(lane, _checked(limit))]
        oldest = self.world.now() - self.world.timing.pending
        return [task for task in found if task.due_at > oldest]

    def bundles(
        self, tenant: str, target: str, shard: int = 0, limit: int = 100, cursor: str | None = None
    ) -> Page[BundleKey]:
        """Bundles of a target's shard, the newest first, as an index shows them."""
        lane = Lane(tenant, checked_target(target), str(shard))
        return self.world.store.bundles_of(lane, _checked(limit), cursor)


def _checked(limit: int) -> int:
    if not 1 <= limit <= LIMIT_MAX:
        raise InvalidRequest(f"limit goes from 1 to {LIMIT_MAX}", field="limit")
    return limit
