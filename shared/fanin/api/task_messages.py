"""Tasks to register in SQS messages, parsed as strictly as by the HTTP edge, without importing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid5

from fanin.api import strict_json
from fanin.errors import InvalidRequest
from fanin.grouper import NewTask

OF_MESSAGES = UUID("9a4d3f0e-6b1c-5f27-8e35-4c1d0b7a2e68")
KINDS: Mapping[str, type] = {"target": str, "taskId": str, "priority": int, "itemId": str}
"""The fields of a message beside its payload, which may be any JSON value."""


def new_task_of(record: Mapping[str, Any]) -> NewTask:
    """Return the task in *record*; without a taskId its id follows from the id of the message.

    The body has the fields of one task of ``POST /v1/tasks``. Raises InvalidRequest for any other body.
    """
    document = strict_json.parse(record["body"])
    if "payload" not in document:
        raise InvalidRequest("a task needs a payload, which may be null", field="payload")
    given = {name: value for name, value in document.items() if name != "payload" and value is not None}
    for name, value in given.items():
        if name not in KINDS:
            raise InvalidRequest(f"there is no field {name!r} of a task", field=name)
        if type(value) is not KINDS[name]:
            raise InvalidRequest(f"{name} is not of the type {KINDS[name].__name__}", field=name)
    return NewTask(
        payload=document["payload"],
        target=given.get("target"),
        task_id=given.get("taskId") or str(uuid5(OF_MESSAGES, record["messageId"])),
        priority=given.get("priority", 0),
        item_id=given.get("itemId"),
    )
