"""The request bodies of the group-batcher's routes."""

from __future__ import annotations

from typing import Annotated, Any, Self
from uuid import UUID, uuid5

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from fanin.api.requests.bodies import Body, ItemIdText
from fanin.grouper import NewTask
from fanin.grouper.rules.ids import TARGET_FORM, TASK_ID_FORM
from fanin.grouper.use_cases.registering import PRIORITY_MAX

TASKS_MAX = 100
OF_KEYS = UUID("0d3c6f0a-98a7-5b1e-8a52-6a3f0f1c9e27")
TARGET_PATTERN = f"^{TARGET_FORM.pattern}$"
TASK_ID_PATTERN = f"^{TASK_ID_FORM.pattern}$"

Target = Annotated[
    str,
    StringConstraints(pattern=TARGET_PATTERN),
    Field(description="Tasks of one target share bundles: 1 to 128 of A-Z, a-z, 0-9, `.`, `_`, `-` and `/`."),
]
TaskIdText = Annotated[
    str,
    StringConstraints(pattern=TASK_ID_PATTERN),
    Field(description="The id of the task: 1 to 64 of A-Z, a-z, 0-9, `.`, `_` and `-`."),
]
Priority = Annotated[
    int,
    Field(
        ge=0, le=PRIORITY_MAX, description="Larger values are bundled first, as far as the index shows them."
    ),
]


class TaskBody(Body):
    """A task: *payload* is any JSON value of up to 32 KiB; *itemId* is acked with the task's outcome.

    Without a *target* the stack computes it from the payload, by its setting `grouper_target`.
    """

    target: Target | None = None
    payload: Any
    task_id: TaskIdText | None = None
    priority: Priority = 0
    item_id: ItemIdText | None = None

    def new_task(self, name: str | None) -> NewTask:
        """Return the task to register; without a taskId its id is derived from *name*, if that is given."""
        named = self.task_id if self.task_id or name is None else str(uuid5(OF_KEYS, name))
        return NewTask(self.payload, self.target, named, self.priority, self.item_id)


class RegisterTaskBody(TaskBody):
    """A task with the fields of TaskBody, or *tasks* alone: 1 to 100 tasks, registered each by itself."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["payload"]}, {"required": ["tasks"]}]}
    )

    payload: Any = None
    tasks: Annotated[list[TaskBody], Field(min_length=1, max_length=TASKS_MAX)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.tasks is None and "payload" not in self.model_fields_set:
            raise PydanticCustomError("no_payload", "a task needs a payload, which may be null")
        if self.tasks is not None and len(self.model_fields_set) > 1:
            raise PydanticCustomError("two_forms", "beside tasks there are no other fields")
        named = [task.task_id for task in self.tasks or () if task.task_id is not None]
        if len(set(named)) < len(named):
            raise PydanticCustomError("same_task", "a taskId names one of the tasks; send it once")
        return self

    def new_tasks(self, key: str | None) -> list[NewTask]:
        """Return the tasks to register; the ids of those without one follow from the idempotency *key*."""
        if self.tasks is None:
            return [self.new_task(key)]
        return [
            task.new_task(None if key is None else f"{key}\n{number}")
            for number, task in enumerate(self.tasks)
        ]

    def canonical(self) -> str:
        """Return the body as canonical JSON; equal requests have equal texts."""
        return self.model_dump_json(by_alias=True, exclude={"tasks"} if self.tasks is None else None)
