"""Sends a frame of messages to SQS from the executors: ten per SendMessageBatch, at a rate, with progress."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from pyspark import SparkContext
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, Row

from fanin.aws.forking import cache_per_process
from pipeline.spark.pacing import ATTEMPTS, Pace, Sleep, waits
from pipeline.spark.progress import Report, every, moving

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BATCH_ENTRIES = 10
BATCH_BYTES = 1_048_576
"""The most that SQS takes in one request: entries, and bytes of all their bodies together."""

ITEMS_A_TASK = 2048
MOST_TASKS = 10_000
PROGRESS_SECONDS = 1.0

RETRIES = Config(
    retries={"mode": "standard", "total_max_attempts": ATTEMPTS}, connect_timeout=5, read_timeout=20
)

Only = Callable[[Iterator[Row]], Iterator[Row]]
"""Filters the rows of a task right before they are sent."""
Pack = Callable[[Iterator[Row]], Iterator["Message"]]
"""Turns the rows of a task into messages."""


class SendFailed(RuntimeError):
    """SQS refused messages on every attempt; the task's other messages are sent all the same."""


class BatchIsOver(ValueError):
    """The batch takes no more acks, so nothing is sent for it."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue by its URL; *region* and *endpoint* default to the executor's environment."""

    url: str
    region: str | None = None
    endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of all tasks: items sent, second copies, entries sent again after a failure."""

    sent: Accumulator[int]
    copies: Accumulator[int]
    retried: Accumulator[int]

    @classmethod
    def of(cls, context: SparkContext) -> Tally:
        return cls(context.accumulator(0), context.accumulator(0), context.accumulator(0))

    def facts(self) -> dict[str, int]:
        """Return the counts as the facts of an event."""
        return {"sent": self.sent.value, "copies": self.copies.value, "retried": self.retried.value}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of *items* items; *copy* is 1, or 2 for an intended duplicate."""

    copy: int
    body: str
    items: int = 1

    @classmethod
    def of(cls, row: Row, sent_at: int) -> Message:
        """Return the message for a row of `messages.as_messages`; *sent_at* in ms since 1970."""
        return cls(row.copy, f'{{"itemId":"{row.item_id}","record":{row.record},"sentAt":{sent_at}}}')


def task_count(items: int, slots: int) -> int:
    """Return how many tasks send *items*: enough to show progress, and to repeat little when one fails."""
    return max(slots, min(MOST_TASKS, ceil(items / ITEMS_A_TASK)))


def singly(rows: Iterator[Row]) -> Iterator[Message]:
    """Yield a message for each row."""
    return (Message.of(row, int(time.time() * 1000)) for row in rows)


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
        return {"items": total, "seconds": round(time.monotonic() - started, 3), **tally.facts()}

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
    messages.foreachPartition(partial(_send_part, queue=queue, tally=tally, rate=rate, only=only, pack=pack))


def _send_part(
    rows: Iterator[Row], queue: Queue, tally: Tally, rate: float | None, only: Only, pack: Pack
) -> None:
    pace = Pace(rate, time.monotonic())
    for batch in batches(pack(only(rows))):
        repeats = send(_client(queue), queue.url, batch, waits(random.Random()), time.sleep)
        tally.sent.add(sum(message.items for message in batch if message.copy == 1))
        tally.copies.add(sum(message.items for message in batch if message.copy > 1))
        tally.retried.add(repeats)
        pace = pace.after(len(batch))
        time.sleep(pace.rest(time.monotonic()))


def batches(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Yield *messages* in order, as many together as one request takes."""
    batch: list[Message] = []
    size = 0
    for message in messages:
        length = len(message.body.encode())
        if batch and (len(batch) == BATCH_ENTRIES or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield batch


def send(client: SQSClient, url: str, batch: Sequence[Message], pauses: Iterable[float], sleep: Sleep) -> int:
    """Send *batch*, and refused entries again after each pause; return how many were sent again."""
    entries: list[Any] = [{"Id": str(n), "MessageBody": m.body} for n, m in enumerate(batch)]
    repeats = 0
    for pause in pauses:
        failed = client.send_message_batch(QueueUrl=url, Entries=entries).get("Failed", [])
        if not failed:
            return repeats
        _refuse(failed)
        again = {entry["Id"] for entry in failed}
        entries = [entry for entry in entries if entry["Id"] in again]
        repeats += len(entries)
        sleep(pause)
    raise SendFailed(f"{len(entries)} messages failed {ATTEMPTS} times: {failed[0].get('Message')}")


def _refuse(failed: Sequence[Any]) -> None:
    """Raise SendFailed if SQS reports an entry as the sender's fault, which a retry cannot fix."""
    for entry in failed:
        if entry["SenderFault"]:
            raise SendFailed(f"SQS refuses a message: {entry['Code']} {entry.get('Message', '')}")


@cache_per_process
def _client(queue: Queue) -> SQSClient:
    # One per worker process: a client cannot be pickled from the driver.
    return boto3.client("sqs", region_name=queue.region, endpoint_url=queue.endpoint, config=RETRIES)
