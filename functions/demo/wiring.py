"""Builds the demo's worker, once in each process."""

import os
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from fanin.aws import clients
from functions.demo.bundling import Bundling
from functions.demo.chaos import Chaos
from functions.demo.index import Index
from functions.demo.queueing import QUEUE, Queueing
from functions.demo.work import Worker
from functions.wiring import grouping, metered, tracking

RETRY_SECONDS = 1
"""So soon is a failed message visible again: without this, after the visibility timeout of the queue."""


@lru_cache(maxsize=1)
def worker() -> Worker:
    """Return the worker of this process, configured by its environment.

    ``FANIN_INDEX_TABLE``: the index table. ``FANIN_CHAOS_FAIL_PERCENT`` (default 0): the percentage of items
    that fail at their first receive, chosen by ``FANIN_CHAOS_SEED``. ``FANIN_BUNDLED_SECTIONS`` (default:
    none): the sections whose packages become tasks for a batch API, separated by commas.
    ``FANIN_QUEUED_SECTIONS`` (default: none): those whose packages become jobs of the work queue.
    """
    tenant = tracking.settings().tenant
    percent = int(os.environ.get("FANIN_CHAOS_FAIL_PERCENT", "0"))
    return Worker(
        transport=tracking.transport(),
        index=Index(clients.dynamodb(), os.environ["FANIN_INDEX_TABLE"]),
        bundling=Bundling(partial(grouping.grouper().register_all, tenant), _sections("BUNDLED")),
        queueing=Queueing(partial(add_all, tenant), _sections("QUEUED")),
        units=lambda: metered.meter.take("write_units"),
        chaos=Chaos(os.environ.get("FANIN_CHAOS_SEED", ""), percent),
        now=lambda: time.time_ns() // 1_000_000,
        retry_soon=retry_soon,
    )


def add_all(tenant: str, jobs: Sequence[Any]) -> None:
    """Add jobs to the demo's queue; the first ones load the room of queues."""
    from functions.wiring import queueing  # noqa: PLC0415

    queueing.made(tenant, QUEUE).add_all(jobs)


def retry_soon(records: Sequence[Mapping[str, Any]]) -> None:
    """Make *records*, which return to their queue, visible again after a second."""
    if records:
        pauses = {record["receiptHandle"]: RETRY_SECONDS for record in records}
        tracking.hide(records[0]["eventSourceARN"], pauses)


def _sections(kind: str) -> frozenset[str]:
    return frozenset(os.environ.get(f"FANIN_{kind}_SECTIONS", "").split(",")) - {""}
