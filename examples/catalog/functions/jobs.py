"""The consumer of the work queue: writes a job's outcome in the transaction of its ack.

A job without a payload is any job; one with a payload is a package, whose index row is written with it.
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import Any

from examples.catalog.functions.queueing import QUEUE, entry_of
from fanin import Fanin, Job, Options, Queue

MOST_FAILURES = 2


@lru_cache(maxsize=1)
def queue() -> Queue:
    return Fanin().queue(QUEUE, options=Options(max_failures=MOST_FAILURES))


def writes(job: Job) -> list[dict[str, Any]]:
    """Return the writes of a job's ack: its outcome, once, and the index row of its package.

    Raises ValueError for a payload that is no package.
    """
    return [outcome(job), *([indexed(job)] if job.payload else [])]


def outcome(job: Job) -> dict[str, Any]:
    item = {"pk": {"S": job.key}, "job": {"S": job.job_id}, "claim": {"S": job.claim or ""}}
    return {
        "Put": {
            "TableName": os.environ["OUTCOMES_TABLE"],
            "Item": item,
            "ConditionExpression": "attribute_not_exists(pk)",
        }
    }


def indexed(job: Job) -> dict[str, Any]:
    entry = entry_of(job, processed_at=time.time_ns() // 1_000_000)
    return {"Put": {"TableName": os.environ["INDEX_TABLE"], "Item": entry.row()}}


def handler(event: dict[str, Any], context: Any) -> None:
    with queue().answer(event, context) as jobs:
        for job in jobs:
            jobs.ack(job, writes=writes(job))
