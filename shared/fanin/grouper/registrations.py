"""Registers the tasks of an SQS delivery; a message whose task is not registered returns, or is isolated."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from fanin.errors import FaninError, InvalidRequest, KeyReused
from fanin.grouper.consuming import Consumed
from fanin.grouper.model import NewTask, Task
from fanin.grouper.service import Grouper
from fanin.isolating import Isolate, Record, isolated

INVALID = (InvalidRequest, KeyReused)
"""Errors that a repetition does not cure: a malformed message, or the task id of another task."""
logger = logging.getLogger("fanin")


def register_messages(
    grouper: Grouper,
    tenant: str,
    records: Sequence[Record],
    parse: Callable[[Record], NewTask],
    isolate: Isolate | None = None,
) -> Consumed[Task]:
    """Register the task that *parse* returns of each record; a malformed message fails by itself.

    *isolate* gets the invalid messages that were received often enough; those that it sent do not return.
    """
    read = [_read(record, parse) for record in records]
    results = iter(grouper.register_all(tenant, [each for each in read if isinstance(each, NewTask)]))
    outcomes = [next(results) if isinstance(each, NewTask) else each for each in read]
    failed = [
        (record, outcome)
        for record, outcome in zip(records, outcomes, strict=True)
        if isinstance(outcome, FaninError)
    ]
    for record, error in failed:
        logger.error("message %s registers no task: %s", record["messageId"], error)
    sent = isolated([record for record, error in failed if isinstance(error, INVALID)], isolate)
    returned = (record["messageId"] for record, _ in failed)
    return Consumed(
        tuple(each for each in outcomes if isinstance(each, Task)),
        tuple(message_id for message_id in returned if message_id not in sent),
    )


def _read(record: Record, parse: Callable[[Record], NewTask]) -> NewTask | InvalidRequest:
    try:
        return parse(record)
    except InvalidRequest as error:
        return error
