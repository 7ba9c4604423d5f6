"""Registers the tasks of an SQS delivery; a message whose task is not registered returns, or is isolated."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from fanin.errors import FaninError, InvalidRequest, KeyReused, QuotaExceeded
from fanin.grouper.rules.model import NewTask, Task
from fanin.grouper.service import Grouper
from fanin.grouper.use_cases.consuming import Consumed
from fanin.isolating import Isolate, Record, isolated, receives

INVALID = (InvalidRequest, KeyReused)
"""Errors that a repetition does not cure: a malformed message, or the task id of another task."""
FIRST_PAUSE_SECONDS = 60
LONGEST_PAUSE_SECONDS = 3600
DOUBLINGS_MAX = 10
Admit = Callable[[int], None]
"""Charges so many tasks to the quota of the tenant, or raises QuotaExceeded."""
Hide = Callable[[str, Mapping[str, int]], None]
"""Hides messages of a queue, given its ARN: receipt handle -> seconds."""
logger = logging.getLogger("fanin")


def _every(_tasks: int) -> None:
    """Admit all tasks."""


def register_messages(
    grouper: Grouper,
    tenant: str,
    records: Sequence[Record],
    parse: Callable[[Record], NewTask],
    isolate: Isolate | None = None,
    admit: Admit = _every,
    hide: Hide | None = None,
) -> Consumed[Task]:
    """Register the task that *parse* returns of each record; a malformed message fails by itself.

    *isolate* gets the invalid messages that were received often enough; those that it sent do not return.
    Where *admit* raises QuotaExceeded, no task of the delivery is registered: its messages return, after
    *hide* has hidden them for a pause that doubles with each receipt.
    """
    read = [_read(record, parse) for record in records]
    tasks = [each for each in read if isinstance(each, NewTask)]
    results: Iterator[Task | FaninError] = iter(_registered(grouper, tenant, tasks, admit))
    outcomes = [next(results) if isinstance(each, NewTask) else each for each in read]
    both = zip(records, outcomes, strict=True)
    failed = [(record, outcome) for record, outcome in both if isinstance(outcome, FaninError)]
    _log(failed)
    _hide([record for record, error in failed if isinstance(error, QuotaExceeded)], hide)
    sent = isolated([record for record, error in failed if isinstance(error, INVALID)], isolate)
    returned = (record["messageId"] for record, _ in failed)
    return Consumed(
        tuple(each for each in outcomes if isinstance(each, Task)),
        tuple(message_id for message_id in returned if message_id not in sent),
    )


def _log(failed: Sequence[tuple[Record, FaninError]]) -> None:
    """Log each message that registers no task, and those over the quota in one line."""
    for record, error in failed:
        if not isinstance(error, QuotaExceeded):
            logger.error("message %s registers no task: %s", record["messageId"], error)
    over = [error for _, error in failed if isinstance(error, QuotaExceeded)]
    if over:
        logger.warning("%d messages return to the queue: %s", len(over), over[0])


def _hide(records: Sequence[Record], hide: Hide | None) -> None:
    """Hide messages over the quota, each for a pause of its own, so that they do not return together."""
    received = [record for record in records if "receiptHandle" in record]
    if hide is not None and received:
        pauses = {record["receiptHandle"]: _pause(record) for record in received}
        hide(received[0]["eventSourceARN"], pauses)


def _pause(record: Record) -> int:
    most = FIRST_PAUSE_SECONDS * 2 ** min(receives(record) - 1, DOUBLINGS_MAX)
    return int(min(LONGEST_PAUSE_SECONDS, most) * random.uniform(0.5, 1))


def _registered(
    grouper: Grouper, tenant: str, tasks: Sequence[NewTask], admit: Admit
) -> Sequence[Task | FaninError]:
    try:
        admit(len(tasks))
    except QuotaExceeded as error:
        return [error for _ in tasks]
    return grouper.register_all(tenant, tasks)


def _read(record: Record, parse: Callable[[Record], NewTask]) -> NewTask | InvalidRequest:
    try:
        return parse(record)
    except InvalidRequest as error:
        return error
