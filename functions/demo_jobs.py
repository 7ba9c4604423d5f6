"""The demo's consumer of the work queue ``demo``: writes a job's outcome in the transaction of its ack."""

import os
from functools import lru_cache
from typing import Any

from fanin import Fanin, Job, Options, Queue
from fanin.client.direct import DirectTransport
from functions.wiring import tracking

MOST_FAILURES = 2
BAD = "bad"


@lru_cache(maxsize=1)
def queue() -> Queue:
    acks = tracking.transport()
    client = Fanin(DirectTransport(acks.tracker, acks.tenant))
    return client.queue("demo", options=Options(max_failures=MOST_FAILURES))


def outcome(job: Job) -> dict[str, Any]:
    """Return the conditional write of the job's row; raise ValueError for a payload of ``bad``."""
    if job.payload == BAD:
        raise ValueError("a bad payload")
    item = {"pk": {"S": job.name}, "job": {"S": job.id}, "claim": {"S": job.claim or ""}}
    absent = "attribute_not_exists(pk)"
    return {
        "Put": {
            "TableName": os.environ["FANIN_OUTCOMES_TABLE"],
            "Item": item,
            "ConditionExpression": absent,
        }
    }


def handler(event: dict[str, Any], context: Any) -> None:
    with queue().answer(event, context) as jobs:
        for job in jobs:
            jobs.ack(job, writes=[outcome(job)])
