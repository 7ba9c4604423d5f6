"""The request bodies of the group-batcher's routes."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID, uuid5

from pydantic import Field, StringConstraints

from fanin.api.requests import Body, ItemIdText
from fanin.grouper import NewTask
from fanin.grouper.ids import TARGET_FORM, TASK_ID_FORM
from fanin.grouper.registering import PRIORITY_MAX

OF_KEYS = UUID("0d3c6f0a-98a7-5b1e-8a52-6a3f0f1c9e27")
TARGET_PATTERN = f"^{TARGET_FORM.pattern}$"
TASK_ID_PATTERN = f"^{TASK_ID_FORM.pattern}$"

Target = Annotated[
    str,
    StringConstraints(pattern=TARGET_PATTERN),
    Field(description="Tasks of one target share bundles: 1 to 128 of A-Z, a-z, 0-9, `.`, `_` and `-`."),
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


class RegisterTaskBody(Body):
    """A task: *payload* is any JSON value of up to 32 KiB; *itemId* is acked with the task's outcome."""

    target: Target
    payload: Any
    task_id: TaskIdText | None = None
    priority: Priority = 0
    item_id: ItemIdText | None = None

    def new_task(self, key: str | None) -> NewTask:
        """Return the task to register; without a taskId its id is derived from the idempotency *key*."""
        named = self.task_id if self.task_id or key is None else str(uuid5(OF_KEYS, key))
        return NewTask(self.payload, self.target, named, self.priority, self.item_id)

    def said(self) -> str:
        """Return the body as canonical JSON."""
        return self.model_dump_json(by_alias=True)
