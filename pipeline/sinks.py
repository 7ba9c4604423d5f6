"""Sends a frame of messages to SQS, from the executors, in SendMessageBatch of ten."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from pyspark import SparkContext
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, Row

from fanin.aws.forking import cache_per_process

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BATCH_ENTRIES = 10
BATCH_BYTES = 1_048_576
"""What SQS takes in one request: entries, and bytes of all their bodies together."""

ATTEMPTS = 8
FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0
"""Of the entries that SQS reports as failed: how often they are sent, and seconds between."""

RETRIES = Config(
    retries={"mode": "standard", "total_max_attempts": ATTEMPTS}, connect_timeout=5, read_timeout=20
)


Sleep = Callable[[float], None]
Only = Callable[[Iterator[Row]], Iterator[Row]]
"""Which of a task's rows are sent, asked as they come to be."""


class SendFailed(RuntimeError):
    """SQS went on refusing messages; the ids of the task's other messages are sent all the same."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue by its URL; *region* and *endpoint* as the executor's own environment has them where None."""

    url: str
    region: str | None = None
    endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """What the finished tasks have sent: items, second copies of some, entries sent again after a failure."""

    sent: Accumulator[int]
    copies: Accumulator[int]
    retried: Accumulator[int]

    @classmethod
    def of(cls, context: SparkContext) -> Tally:
        return cls(context.accumulator(0), context.accumulator(0), context.accumulator(0))

    def facts(self) -> dict[str, int]:
        return {"sent": self.sent.value, "copies": self.copies.value, "retried": self.retried.value}


@dataclass(frozen=True, slots=True)
class Message:
    """One message; *copy* is 1, or 2 for a repeat made on purpose."""

    copy: int
    body: str

    @classmethod
    def of(cls, row: Row, sent_at: int) -> Message:
        """The message for a row of `transforms.as_messages`; *sent_at* in ms since 1970."""
        return cls(row.copy, f'{{"itemId":"{row.item_id}","record":{row.record},"sentAt":{sent_at}}}')


def publish(
    messages: DataFrame, queue: Queue, tally: Tally, rate: float | None = None, only: Only = iter
) -> None:
    """Send every row that *only* lets pass; at least once each.

    *rate*: the most messages a second that one task may send.
    """
    messages.foreachPartition(partial(_send_part, queue=queue, tally=tally, rate=rate, only=only))


def _send_part(rows: Iterator[Row], queue: Queue, tally: Tally, rate: float | None, only: Only) -> None:
    pace = Pace(rate, time.monotonic())
    for batch in batches(Message.of(row, int(time.time() * 1000)) for row in only(rows)):
        repeats = send(_client(queue), queue.url, batch, waits(random.Random()), time.sleep)
        tally.sent.add(sum(message.copy == 1 for message in batch))
        tally.copies.add(sum(message.copy > 1 for message in batch))
        tally.retried.add(repeats)
        pace = pace.after(len(batch))
        time.sleep(pace.rest(time.monotonic()))


def batches(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """*messages* in the order they come, as many together as one request takes."""
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
    """Send *batch*, and what SQS could not take again after each pause; return how many entries that were."""
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


def waits(chance: random.Random) -> Iterator[float]:
    """Seconds to pause after each attempt: anything up to a bound that doubles."""
    for attempt in range(ATTEMPTS):
        yield chance.uniform(0, min(LONGEST_WAIT, FIRST_WAIT * 2**attempt))


@dataclass(frozen=True, slots=True)
class Pace:
    """Keeps one task at *rate* (messages, units) a second since *started*, in seconds of a steady clock."""

    rate: float | None
    started: float
    sent: float = 0

    def after(self, count: float) -> Pace:
        """The pace once *count* more are sent."""
        return Pace(self.rate, self.started, self.sent + count)

    def rest(self, now: float) -> float:
        """Seconds to wait before the next message."""
        return max(0.0, self.started + self.sent / self.rate - now) if self.rate else 0.0


def _refuse(failed: Sequence[Any]) -> None:
    """Raise SendFailed where sending the same entry again cannot help."""
    for entry in failed:
        if entry["SenderFault"]:
            raise SendFailed(f"SQS refuses a message: {entry['Code']} {entry.get('Message', '')}")


@cache_per_process
def _client(queue: Queue) -> SQSClient:
    # One a worker process, made where it is used: a client cannot travel from the driver.
    return boto3.client("sqs", region_name=queue.region, endpoint_url=queue.endpoint, config=RETRIES)
