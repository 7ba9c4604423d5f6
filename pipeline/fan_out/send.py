"""Sends a frame of messages to SQS from the executors: ten per SendMessageBatch, at a rate, with progress."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol

from fanin.aws.forking import cache_per_process
from fanin.pacing import ATTEMPTS, Pace, waits
from fanin.publishing.message_groups import message_group
from fanin.publishing.packing import Pack, Row, batches, singly
from fanin.publishing.sending import send
from fanin.tracker.rules.page import PAGE_BITS_MAX
from pipeline.shared_by_jobs.progress import Report, every, moving

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from pyspark import SparkContext
    from pyspark.sql import DataFrame

PAGE_ITEMS = PAGE_BITS_MAX
"""Messages are sent page by page, because neighbours are acked in one write. This affects speed only."""
ITEMS_A_TASK = 2048
MOST_TASKS = 10_000
PROGRESS_SECONDS = 1.0

Only = Callable[[Iterator[Row]], Iterator[Row]]
"""Filters the rows of a task right before they are sent."""


class BatchIsOver(ValueError):
    """The batch takes no more acks, so nothing is sent for it."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue by its URL; *region* and *endpoint* default to the executor's environment.

    *group*: the message group of what is sent; None: the batch.
    """

    url: str
    region: str | None = None
    endpoint: str | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        if self.group is not None:
            message_group(self.group)


class Counter(Protocol):
    """A number that tasks add to."""

    @property
    def value(self) -> int: ...
    def add(self, term: int, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of all tasks: items sent, second copies, entries sent again after a failure."""

    sent: Counter
    copies: Counter
    retried: Counter

    @classmethod
    def of(cls, context: SparkContext) -> Tally:
        return cls(context.accumulator(0), context.accumulator(0), context.accumulator(0))

    def facts(self) -> dict[str, int]:
        """Return the counts as the facts of an event."""
        return {"sent": self.sent.value, "copies": self.copies.value, "retried": self.retried.value}


def counted_facts(tally: Tally, total: int, started: float) -> dict[str, Any]:
    """Return the facts of the events ``progress`` and ``sent``."""
    return {"items": total, "seconds": round(time.monotonic() - started, 3), **tally.facts()}


def rows_together(chunk: int) -> int:
    """Return how many rows whole pages have that are also whole chunks."""
    return chunk * ceil(PAGE_ITEMS / chunk)


def task_count(items: int, slots: int) -> int:
    """Return how many tasks send *items*: enough to show progress, and to repeat little when one fails."""
    return max(slots, min(MOST_TASKS, ceil(items / ITEMS_A_TASK)))


def send_all(
    messages: DataFrame,
    total: int,
    queue: Queue,
    rate: float | None,
    report: Report,
    only: Only = iter,
    pack: Pack = singly,
) -> dict[str, int]:
    """Send every row of `messages.as_messages` that *only* keeps, as *pack* packs them; return the counts.

    *total*: the items of the frame. *rate*: messages a second, all executors together.
    """
    context = messages.sparkSession.sparkContext
    tally = Tally.of(context)
    started = time.monotonic()

    def facts() -> dict[str, Any]:
        return counted_facts(tally, total, started)

    progress = moving(report, "sent")
    with every(PROGRESS_SECONDS, lambda: progress("progress", facts())):
        slots = context.defaultParallelism
        send_frame(messages, queue, tally, rate / slots if rate else None, only, pack)
    report("sent", facts())
    return tally.facts()


def send_frame(
    messages: DataFrame,
    queue: Queue,
    tally: Tally,
    rate: float | None = None,
    only: Only = iter,
    pack: Pack = singly,
) -> None:
    """Send every row that *only* keeps, at least once each.

    *rate*: messages a second of one task.
    """
    messages.foreachPartition(partial(send_part, queue=queue, tally=tally, rate=rate, only=only, pack=pack))


def send_part(
    rows: Iterator[Row], queue: Queue, tally: Tally, rate: float | None, only: Only, pack: Pack
) -> None:
    """Send every row of one task that *only* keeps, at least once each."""
    pace = Pace(rate, time.monotonic())
    for batch in batches(pack(only(rows))):
        repeats = send(_client(queue), queue.url, batch, waits(random.Random()), time.sleep, queue.group)
        tally.sent.add(sum(message.items for message in batch if message.copy == 1))
        tally.copies.add(sum(message.items for message in batch if message.copy > 1))
        tally.retried.add(repeats)
        pace = pace.after(len(batch))
        time.sleep(pace.pause(time.monotonic()))


@cache_per_process
def _client(queue: Queue) -> SQSClient:
    # One per worker process: a client cannot be pickled from the driver.
    import boto3  # noqa: PLC0415  # a fifth of a second, which messages in files save
    from botocore.config import Config  # noqa: PLC0415

    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    config = Config(retries=retries, connect_timeout=5, read_timeout=20)  # type: ignore[arg-type]
    return boto3.client("sqs", region_name=queue.region, endpoint_url=queue.endpoint, config=config)
