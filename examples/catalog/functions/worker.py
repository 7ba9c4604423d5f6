"""The consumer of the SQS queue: every message has a catalog record to index and an item to ack."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import boto3

from examples.catalog.functions.bundling import Bundling
from examples.catalog.functions.chaos import Chaos
from examples.catalog.functions.delivery import Worker
from examples.catalog.functions.index import Index
from examples.catalog.functions.queueing import QUEUE, Queueing
from fanin import Fanin
from fanin.aws import clients
from fanin.aws.dynamodb.meter import Meter

RETRY_SECONDS = 1
"""So soon is a failed message visible again: without this, after the visibility timeout of the queue."""
ENTRIES = 10
"""Of one request to SQS."""


@lru_cache(maxsize=1)
def worker() -> Worker:
    """Return the worker of this process, configured by its environment.

    ``INDEX_TABLE``: the index table. ``WORK_QUEUE_URL``: its own queue. ``TASKS_QUEUE_URL``: the
    registrations queue. ``CHAOS_FAIL_PERCENT`` (default 0): the percentage of items that fail at their first
    receive, chosen by ``CHAOS_SEED``. ``BUNDLED_SECTIONS`` (default: none): the sections whose packages
    become tasks for a batch API, separated by commas. ``QUEUED_SECTIONS`` (default: none): those whose
    packages become jobs.
    """
    fanin, dynamodb, sqs = Fanin(), clients.dynamodb(), boto3.client("sqs")
    meter = Meter().attach(dynamodb)
    return Worker(
        ack=fanin.ack,
        index=Index(dynamodb, os.environ["INDEX_TABLE"]),
        bundling=Bundling(sqs, os.environ["TASKS_QUEUE_URL"], _sections("BUNDLED")),
        queueing=Queueing(lambda jobs: fanin.queue(QUEUE).add_all(jobs), _sections("QUEUED")),
        units=lambda: meter.take("write_units"),
        chaos=Chaos(os.environ.get("CHAOS_SEED", ""), int(os.environ.get("CHAOS_FAIL_PERCENT", "0"))),
        now=lambda: time.time_ns() // 1_000_000,
        retry_soon=lambda records: retry_soon(sqs, records),
    )


def retry_soon(sqs: Any, records: Sequence[Mapping[str, Any]]) -> None:
    """Make *records*, which return to their queue, visible again after a second."""
    for first in range(0, len(records), ENTRIES):
        entries = [
            {"Id": str(n), "ReceiptHandle": record["receiptHandle"], "VisibilityTimeout": RETRY_SECONDS}
            for n, record in enumerate(records[first : first + ENTRIES])
        ]
        sqs.change_message_visibility_batch(QueueUrl=os.environ["WORK_QUEUE_URL"], Entries=entries)


def _sections(kind: str) -> frozenset[str]:
    return frozenset(os.environ.get(f"{kind}_SECTIONS", "").split(",")) - {""}


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return worker().work(event)
