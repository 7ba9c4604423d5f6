"""Registers the tasks of an SQS delivery; only the messages whose task is not registered come again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fanin.errors import FaninError, InvalidRequest
from fanin.grouper.consuming import Consumed
from fanin.grouper.model import NewTask, Task
from fanin.grouper.service import Grouper

Record = Mapping[str, Any]
logger = logging.getLogger("fanin")


def register_messages(
    grouper: Grouper, tenant: str, records: Sequence[Record], parse: Callable[[Record], NewTask]
) -> Consumed[Task]:
    """Register the task that *parse* returns of each record; a malformed message fails by itself."""
    read = [_read(record, parse) for record in records]
    new_tasks = [each for each in read if isinstance(each, NewTask)]
    results = iter(grouper.register_all(tenant, new_tasks))
    outcomes = [next(results) if isinstance(each, NewTask) else each for each in read]
    failed: list[str] = []
    for record, outcome in zip(records, outcomes, strict=True):
        if isinstance(outcome, FaninError):
            logger.error("message %s registers no task: %s", record["messageId"], outcome)
            failed.append(record["messageId"])
    return Consumed(tuple(each for each in outcomes if isinstance(each, Task)), tuple(failed))


def _read(record: Record, parse: Callable[[Record], NewTask]) -> NewTask | InvalidRequest:
    try:
        return parse(record)
    except InvalidRequest as error:
        return error
