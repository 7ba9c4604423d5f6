"""Registers a task: one conditional write, then a message delayed by the target's linger."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fanin.errors import FaninError, InvalidRequest, KeyReused, StoreUnavailable
from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.ids import checked_target, checked_task_id, slot_of
from fanin.grouper.rules.messages import Posting, TaskMessage
from fanin.grouper.rules.model import NewTask, Task, TaskState
from fanin.grouper.world import World

PAYLOAD_BYTES = 32_768
PRIORITY_MAX = 999


@dataclass(frozen=True, slots=True)
class Registrar:
    """Registers tasks. *target_of* computes the target of a task that has none."""

    world: World
    target_of: Callable[[NewTask], str] | None = None

    def register(self, tenant: str, new_task: NewTask) -> Task:
        """Register a task and return it as stored; a task of the same id is registered once.

        Raises InvalidRequest if a field is out of bounds, KeyReused if the id was used for another request,
        and StoreUnavailable if the task may not be processed: register it again.
        """
        stored = self._stored(tenant, new_task)
        self._send([stored])
        return stored

    def register_all(self, tenant: str, new_tasks: Sequence[NewTask]) -> list[Task | FaninError]:
        """Register each task and return it as stored, or why it is not registered, in their order.

        StoreUnavailable: the task may not be processed; register it again.
        """
        results = self.world.each(lambda new_task: self._result(tenant, new_task), new_tasks)
        try:
            self._send([each for each in results if isinstance(each, Task)])
        except StoreUnavailable as error:
            return [error if _is_open(each) else each for each in results]
        return results

    def _result(self, tenant: str, new_task: NewTask) -> Task | FaninError:
        try:
            return self._stored(tenant, new_task)
        except FaninError as error:
            return error

    def _stored(self, tenant: str, new_task: NewTask) -> Task:
        """Store the task and return it as stored. Raises InvalidRequest, KeyReused and StoreUnavailable."""
        wanted = self._task(tenant, new_task)
        stored = self.world.store.create(wanted)
        if new_task.target is None:  # the template may be another since the task was registered
            wanted = replace(wanted, target=stored.target)
        if not stored.asks_for_the_same(wanted):
            raise KeyReused(
                "this taskId was used for a task with another target, payload, priority or itemId"
            )
        return stored

    def _send(self, tasks: Sequence[Task]) -> None:
        """Send the messages of those of *tasks* that wait for a bundle."""
        waiting = [task for task in tasks if _is_open(task)]
        if waiting:
            self.world.queue.send([self._posting(task) for task in waiting])

    def _posting(self, task: Task) -> Posting:
        return Posting(TaskMessage.of(task), rules.seconds(self.world.policies.of(task.target).linger))

    def _task(self, tenant: str, new_task: NewTask) -> Task:
        at = self.world.now()
        task_id = checked_task_id(new_task.task_id or self.world.new_id())
        target = self._target(new_task)
        shards = self.world.policies.of(target).shards
        return Task(
            tenant=tenant,
            task_id=task_id,
            target=target,
            shard=str(slot_of(task_id, shards)),
            state=TaskState.CREATED,
            payload=payload_text(new_task.payload),
            priority=_checked_priority(new_task.priority),
            item_id=new_task.item_id,
            attempts=0,
            created_at=at,
            due_at=at,
            expires_at=at + self.world.timing.pending,
        )

    def _target(self, new_task: NewTask) -> str:
        if new_task.target is not None:
            return checked_target(new_task.target)
        if self.target_of is None:
            raise InvalidRequest(
                "target is required: the stack computes none, because its setting grouper_target is empty",
                field="target",
            )
        return checked_target(self.target_of(new_task))


def _is_open(task: object) -> bool:
    """Whether *task* waits for a bundle, so that its message is sent."""
    return isinstance(task, Task) and task.state is TaskState.CREATED


def payload_text(payload: object) -> str:
    """Return the payload as canonical JSON; raise InvalidRequest if it is not JSON or over 32 KiB."""
    try:
        text = json.dumps(payload, allow_nan=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest("payload must be a JSON value", field="payload") from error
    if len(text) > PAYLOAD_BYTES:
        raise InvalidRequest(f"payload must have at most {PAYLOAD_BYTES} bytes as JSON", field="payload")
    return text


def _checked_priority(priority: int) -> int:
    if type(priority) is not int or not 0 <= priority <= PRIORITY_MAX:
        raise InvalidRequest(f"priority must be a whole number from 0 to {PRIORITY_MAX}", field="priority")
    return priority
