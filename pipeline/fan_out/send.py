"""Sends a frame of messages to SQS from the executors: ten per SendMessageBatch, at a rate, with progress."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import boto3
import pyarrow as pa
from botocore.config import Config
from pyspark.sql import DataFrame, SparkSession

from fanin.aws.forking import cache_per_process
from fanin.pacing import ATTEMPTS, Pace, waits
from fanin.publishing.message_groups import message_group
from fanin.publishing.packing import Pack, batches, singly
from fanin.publishing.sending import send
from pipeline.shared_by_jobs.progress import Count, Report, counter, counting, moving
from pipeline.shared_by_jobs.stages import Paced, slots_of

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ITEMS_A_TASK = 2048
MOST_TASKS = 10_000
PROGRESS_SECONDS = 1.0

RETRIES = Config(
    retries={"mode": "standard", "total_max_attempts": ATTEMPTS}, connect_timeout=5, read_timeout=20
)

COUNTS = ("sent", "copies", "retried", "acked")
"""The counts of a task: items sent, second copies, entries sent again after a failure, and rows left out."""


class Row(NamedTuple):
    """A row of `messages.as_messages`."""

    position: int
    copy: int
    item_id: str
    record: str


Only = Callable[[Iterator[Row], Counter[str]], Iterator[Row]]
"""Filters the rows of a task right before they are sent, and counts those that it leaves out as ``acked``."""


def every_row(rows: Iterator[Row], _counts: Counter[str]) -> Iterator[Row]:
    """Return *rows*: the Only that leaves none out."""
    return rows


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


@dataclass(frozen=True, slots=True)
class Tally:
    """What all tasks sent so far, to show progress; a task that is run again counts again."""

    sent: Count
    copies: Count
    retried: Count

    @classmethod
    def of(cls, spark: SparkSession) -> Tally:
        return cls(counter(spark), counter(spark), counter(spark))

    def add(self, counts: Mapping[str, int]) -> None:
        """Add the counts of a request."""
        self.sent.add(counts["sent"])
        self.copies.add(counts["copies"])
        self.retried.add(counts["retried"])

    def facts(self) -> dict[str, int]:
        """Return the counts as the facts of an event."""
        return {"sent": self.sent.value, "copies": self.copies.value, "retried": self.retried.value}


def task_count(items: int, slots: int) -> int:
    """Return how many tasks send *items*: enough to show progress, and to repeat little when one fails."""
    return max(slots, min(MOST_TASKS, ceil(items / ITEMS_A_TASK)))


def paced(spark: SparkSession, items: int, rate: float | None) -> Paced:
    """Return the tasks that send *items*, at *rate* messages a second all together."""
    slots = slots_of(spark)
    return slots.paced(task_count(items, slots.count), rate)


def send_all(
    messages: DataFrame,
    total: int,
    queue: Queue,
    rate: float | None,
    report: Report,
    only: Only = every_row,
    pack: Pack = singly,
) -> Counter[str]:
    """Send every row of `messages.as_messages` that *only* keeps, as *pack* packs them; return the COUNTS.

    *total*: the items of the frame. *rate*: messages a second of one task.
    """
    spark, started = messages.sparkSession, time.monotonic()
    tally = Tally.of(spark)

    def facts(counts: Mapping[str, int]) -> dict[str, Any]:
        return {"items": total, "seconds": round(time.monotonic() - started, 3), **counts}

    progress = moving(report, "sent")
    with counting(spark, PROGRESS_SECONDS, lambda: progress("progress", facts(tally.facts()))):
        counts = send_frame(messages, queue, tally, rate, only, pack)
    report("sent", facts({name: counts[name] for name in ("sent", "copies", "retried")}))
    return counts


def send_frame(
    messages: DataFrame,
    queue: Queue,
    tally: Tally,
    rate: float | None = None,
    only: Only = every_row,
    pack: Pack = singly,
) -> Counter[str]:
    """Send every row that *only* keeps, at least once each; return the COUNTS of the tasks that succeeded.

    *rate*: messages a second of one task.
    """
    task = partial(_send_part, queue=queue, tally=tally, rate=rate, only=only, pack=pack)
    counted = messages.mapInArrow(task, ", ".join(f"{name} long" for name in COUNTS)).collect()
    return Counter({name: sum(row[name] for row in counted) for name in COUNTS})


def _send_part(
    found: Iterator[pa.RecordBatch], queue: Queue, tally: Tally, rate: float | None, only: Only, pack: Pack
) -> Iterator[pa.RecordBatch]:
    pace, counts = Pace(rate, time.monotonic()), Counter(dict.fromkeys(COUNTS, 0))
    for batch in batches(pack(only(_rows(found), counts))):
        repeats = send(_client(queue), queue.url, batch, waits(random.Random()), time.sleep, queue.group)
        copies = sum(message.items for message in batch if message.copy > 1)
        sent = {"sent": sum(m.items for m in batch) - copies, "copies": copies, "retried": repeats}
        counts.update(sent)
        tally.add(sent)
        pace = pace.after(len(batch))
        time.sleep(pace.pause(time.monotonic()))
    yield pa.RecordBatch.from_pylist([counts])


def _rows(found: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    for batch in found:
        yield from map(Row, *(batch.column(name).to_pylist() for name in Row._fields))


@cache_per_process
def _client(queue: Queue) -> SQSClient:
    # One per worker process: a client cannot be pickled from the driver.
    return boto3.client("sqs", region_name=queue.region, endpoint_url=queue.endpoint, config=RETRIES)
