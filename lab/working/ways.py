"""The ways to work on a queue, each run as a process: ``python -m lab.working.ways WAY URL MESSAGES``.

It prints the seconds of processor time that the work took.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import boto3

from fanin import Fanin
from fanin.aws import clients

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

NO_ACK, ALONE, TOGETHER = "no ack", "ack each", "ack ten"
THREADS, TASKS = "fanin.work, threads", "fanin.work, tasks"
TEN = 10


def looping(fanin: Fanin, url: str, messages: int, acked_at_once: int) -> None:
    """Receive ten, work, ack so many at once, delete ten, as most workers of boto3 do."""
    sqs = _sqs()
    deleted = 0
    while deleted < messages:
        found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=5).get(
            "Messages", []
        )
        items = [worked(message["Body"]) for message in found]
        for first in range(0, len(items), acked_at_once) if acked_at_once else ():
            fanin.ack(items[first : first + acked_at_once])
        entries: Any = [
            {"Id": str(at), "ReceiptHandle": each["ReceiptHandle"]} for at, each in enumerate(found)
        ]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)
        deleted += len(found)


@cache
def _sqs() -> SQSClient:
    return boto3.client("sqs")


def worked(body: str) -> str:
    """Do small work."""
    return body.strip()


def working(fanin: Fanin, url: str, messages: int, in_tasks: bool) -> None:
    """Work by the worker, which stops after the last message."""
    stop, count = threading.Event(), 0

    def handle(record: Any) -> None:
        nonlocal count
        worked(record["body"])
        count += 1
        if count == messages:
            stop.set()

    async def handle_in_task(record: Any) -> None:
        handle(record)

    fanin.work(url, handle_in_task if in_tasks else handle, stop=stop)


LOOPS = (NO_ACK, ALONE, TOGETHER)
WAYS: dict[str, Callable[[Fanin, str, int], None]] = {
    NO_ACK: lambda fanin, url, messages: looping(fanin, url, messages, 0),
    ALONE: lambda fanin, url, messages: looping(fanin, url, messages, 1),
    TOGETHER: lambda fanin, url, messages: looping(fanin, url, messages, TEN),
    THREADS: lambda fanin, url, messages: working(fanin, url, messages, in_tasks=False),
    TASKS: lambda fanin, url, messages: working(fanin, url, messages, in_tasks=True),
}


def main(way: str, site: str, messages: int) -> None:
    os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ["AWS_ENDPOINT_URL"] = site
    os.sched_setaffinity(0, {0})
    fanin, url = Fanin(site), f"{site}/000000000000/work"
    _sqs() if way in LOOPS else clients.long_polls()  # a client is created once, before the work
    before = resource.getrusage(resource.RUSAGE_SELF)
    WAYS[way](fanin, url, messages)
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
