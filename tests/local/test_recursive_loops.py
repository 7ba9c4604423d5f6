"""The local run drops what Lambda drops: the 17th invocation of a function in one chain of requests."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from fanin.local import LocalRun
from fanin.local.emulator_patches.lineage import INVOCATIONS_MAX, STOPPED

ROUNDS = INVOCATIONS_MAX + 4
SENDER = """
import json, os
import boto3

def handler(event, context):
    sqs = boto3.client("sqs")
    for record in event["Records"]:
        sent = json.loads(record["body"])
        sqs.send_message(QueueUrl=sent["done"], MessageBody=record["body"])
        if sent["left"]:
            again = json.dumps({**sent, "left": sent["left"] - 1})
            sqs.send_message_batch(QueueUrl=sent["own"], Entries=[{"Id": "0", "MessageBody": again}])
"""


class Loop:
    """A function that sends each message to its own queue again, as often as the message says."""

    def __init__(self, run: LocalRun) -> None:
        self.name = f"loop-{uuid4().hex[:8]}"
        self.sqs, self.lambda_ = run.client("sqs"), run.client("lambda")
        self.own, self.finished = (self._queue(f"{self.name}-{each}") for each in ("own", "done"))
        self.lambda_.create_function(
            FunctionName=self.name,
            Runtime="python3.13",
            Role="arn:aws:iam::000000000000:role/any",
            Handler="index.handler",
            Code={"ZipFile": _zip(SENDER)},
        )
        arn = self.sqs.get_queue_attributes(QueueUrl=self.own, AttributeNames=["QueueArn"])
        self.mapping = self.lambda_.create_event_source_mapping(
            FunctionName=self.name, EventSourceArn=arn["Attributes"]["QueueArn"], BatchSize=1
        )["UUID"]

    def _queue(self, name: str) -> str:
        return self.sqs.create_queue(QueueName=name)["QueueUrl"]

    def start(self, rounds: int, **more: Any) -> None:
        """Send a message that comes back so often."""
        body = json.dumps({"own": self.own, "done": self.finished, "left": rounds - 1})
        self.sqs.send_message(QueueUrl=self.own, MessageBody=body, **more)

    def invocations(self, most: int) -> int:
        """Return how often the function was invoked, up to *most*, once nothing came of it for a while."""
        found, quiet_at = 0, time.monotonic() + 30
        while found < most and time.monotonic() < quiet_at:
            answer = self.sqs.receive_message(
                QueueUrl=self.finished, MaxNumberOfMessages=1, WaitTimeSeconds=1
            )
            for each in answer.get("Messages", []):
                found, quiet_at = found + 1, time.monotonic() + 5
                self.sqs.delete_message(QueueUrl=self.finished, ReceiptHandle=each["ReceiptHandle"])
        return found


def _zip(code: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("index.py", code)
    return packed.getvalue()


@pytest.fixture
def loop(run: LocalRun) -> Iterator[Loop]:
    loop = Loop(run)
    yield loop
    loop.lambda_.delete_event_source_mapping(UUID=loop.mapping)
    loop.lambda_.delete_function(FunctionName=loop.name)


def test_a_function_is_invoked_sixteen_times_in_one_chain(run: LocalRun, loop: Loop) -> None:
    loop.start(ROUNDS)

    assert loop.invocations(ROUNDS) == INVOCATIONS_MAX
    assert STOPPED in run._emulator.log_tail()


def test_a_function_that_may_loop_goes_on(loop: Loop) -> None:
    loop.lambda_.put_function_recursion_config(FunctionName=loop.name, RecursiveLoop="Allow")
    loop.start(ROUNDS)

    assert loop.invocations(ROUNDS) == ROUNDS
