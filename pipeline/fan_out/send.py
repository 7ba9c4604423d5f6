"""Sends rows of messages to SQS: ten per SendMessageBatch, at a rate, with progress.

A frame of them is sent from the executors.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from fanin.aws.forking import cache_per_process
from fanin.pacing import ATTEMPTS, Pace, waits
from fanin.publishing.message_groups import message_group
from fanin.publishing.packing import Carried, Pack, batches, carrying, singly
from fanin.publishing.sending import send
from fanin.tracker.rules.page import PAGE_BITS_MAX
from pipeline.shared_by_jobs.progress import Count, Report, counter, counting, moving

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from pyspark.sql import DataFrame, SparkSession

    from pipeline.shared_by_jobs.stages import Paced

PAGE_ITEMS = PAGE_BITS_MAX
"""Messages are sent page by page, because neighbours are acked in one write. This affects speed only."""
ITEMS_A_TASK = 2048
MOST_TASKS = 10_000
PROGRESS_SECONDS = 1.0

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

    *group*: the message group of what is sent; None: the batch. *carried*: the trace context of the messages.
    """

    url: str
    region: str | None = None
    endpoint: str | None = None
    group: str | None = None
    carried: Carried = ()

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


def rows_together(chunk: int) -> int:
    """Return how many rows whole pages have that are also whole chunks."""
    return chunk * ceil(PAGE_ITEMS / chunk)


def task_count(items: int, slots: int) -> int:
    """Return how many tasks send *items*: enough to show progress, and to repeat little when one fails."""
    return max(slots, min(MOST_TASKS, ceil(items / ITEMS_A_TASK)))


def paced(spark: SparkSession, items: int, rate: float | None) -> Paced:
    """Return the tasks that send *items*, at *rate* messages a second all together."""
    # With Spark, which takes a second to import.
    from pipeline.shared_by_jobs.stages import slots_of  # noqa: PLC0415

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

    progress = moving(report, "sent")
    with counting(
        spark, PROGRESS_SECONDS, lambda: progress("progress", facts_of(tally.facts(), total, started))
    ):
        counts = send_frame(messages, queue, tally, rate, only, pack)
    report("sent", facts_of(counts, total, started))
    return counts


def facts_of(counts: Mapping[str, int], total: int, started: float) -> dict[str, Any]:
    """Return the facts of the events ``progress`` and ``sent``."""
    sent = {name: counts[name] for name in ("sent", "copies", "retried")}
    return {"items": total, "seconds": round(time.monotonic() - started, 3), **sent}


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
    yield pa.RecordBatch.from_pylist([send_rows(_rows(found), queue, tally, rate, only, pack)])


def send_rows(
    rows: Iterator[Row], queue: Queue, tally: Tally, rate: float | None, only: Only, pack: Pack
) -> Counter[str]:
    """Send every row of one task that *only* keeps, at least once each; return the COUNTS."""
    pace, counts = Pace(rate, time.monotonic()), Counter(dict.fromkeys(COUNTS, 0))
    for batch in batches(carrying(pack(only(rows, counts)), queue.carried)):
        repeats = send(_client(queue), queue.url, batch, waits(random.Random()), time.sleep, queue.group)
        copies = sum(message.items for message in batch if message.copy > 1)
        sent = {"sent": sum(m.items for m in batch) - copies, "copies": copies, "retried": repeats}
        counts.update(sent)
        tally.add(sent)
        pace = pace.after(len(batch))
        time.sleep(pace.pause(time.monotonic()))
    return counts


def _rows(found: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    for batch in found:
        yield from map(Row, *(batch.column(name).to_pylist() for name in Row._fields))


@cache_per_process
def _client(queue: Queue) -> SQSClient:
    # One per worker process: a client cannot be pickled from the driver.
    import boto3  # noqa: PLC0415  # a fifth of a second, which messages in files save
    from botocore.config import Config  # noqa: PLC0415

    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    config = Config(retries=retries, connect_timeout=5, read_timeout=20)  # type: ignore[arg-type]
    return boto3.client("sqs", region_name=queue.region, endpoint_url=queue.endpoint, config=config)
