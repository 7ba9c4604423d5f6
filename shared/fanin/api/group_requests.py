"""What callers send to the group-batcher."""

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
    Field(description="Tasks of one target share bundles: 1 to 128 letters, digits, `.`, `_` or `-`."),
]
TaskIdText = Annotated[
    str,
    StringConstraints(pattern=TASK_ID_PATTERN),
    Field(description="The name of the task: 1 to 64 letters, digits, `.`, `_` or `-`."),
]
Priority = Annotated[int, Field(ge=0, le=PRIORITY_MAX, description="Larger goes first, where it can.")]


class RegisterTaskBody(Body):
    """A task: *payload* is any JSON value of up to 32 KiB; *itemId* is acked with the task's outcome."""

    target: Target
    payload: Any
    task_id: TaskIdText | None = None
    priority: Priority = 0
    item_id: ItemIdText | None = None

    def wish(self, key: str | None) -> NewTask:
        """As the group-batcher takes it; a task without a name is named by its idempotency *key*."""
        named = self.task_id if self.task_id or key is None else str(uuid5(OF_KEYS, key))
        return NewTask(self.payload, self.target, named, self.priority, self.item_id)

    def said(self) -> str:
        """All of it, in one form."""
        return self.model_dump_json(by_alias=True)
