"""The deployed functions whose own messages come back to them, at the count at which Lambda stops others."""

from __future__ import annotations

import json
import time
from uuid import uuid4

import pytest

from fanin.grouper import BundleKey, BundleMessage, TaskKey, TaskMessage
from fanin.local import LocalRun
from fanin.local.emulator_patches.lineage import INVOCATIONS_MAX, TRACE_HEADER, Chain
from fanin.local.function_processes import deployed as functions
from fanin.queue import QueueKey
from fanin.queue.rules.messages import body
from fanin.queue.rules.model import Ring
from fanin.s3_publications.model import Order

TENANT = "000000000000"
SECONDS = 60
UNKNOWN = str(uuid4())
MESSAGES = {
    "lead_tasks": TaskMessage(TaskKey(TENANT, UNKNOWN)).body(),
    "handle_bundle": BundleMessage(BundleKey(TENANT, UNKNOWN)).body(),
    "consume_tasks": json.dumps({"taskId": UNKNOWN, "target": "loops", "payload": None}),
    "jobs": body(QueueKey(TENANT, "demo"), Ring(0)),
    "continue_publication": Order(
        TENANT,
        "s3://lake/in/a.jsonl",
        "arn:aws:sqs:us-east-1:000000000000:lake-rows",
        batch_id=UNKNOWN,
    ).message(),
    "consume_acks": json.dumps({"itemId": "none"}),
}


class Sent:
    """A message whose chain invoked the function of *handler* as often as Lambda lets it."""

    def __init__(self, run: LocalRun, handler: str) -> None:
        lambda_, self.sqs, self.run = run.client("lambda"), run.client("sqs"), run
        self.function = functions.by_handler(lambda_)[handler]["FunctionName"]
        (mapping,) = lambda_.list_event_source_mappings(FunctionName=self.function)["EventSourceMappings"]
        name = mapping["EventSourceArn"].rpartition(":")[2]
        self.url = self.sqs.get_queue_url(QueueName=name)["QueueUrl"]
        self.sqs.purge_queue(
            QueueUrl=self.url
        )  # of what other tests left there, hidden until its next receive
        chain = Chain()
        for _ in range(INVOCATIONS_MAX):
            chain = chain.with_invocation(self.function)
        header = {TRACE_HEADER: {"DataType": "String", "StringValue": chain.header()}}
        text = MESSAGES[handler]
        self.sqs.send_message(QueueUrl=self.url, MessageBody=text, MessageSystemAttributes=header)

    def outcome(self) -> str:
        """Wait until the queue is empty, or the function was stopped, whose message stays hidden."""
        give_up = time.monotonic() + SECONDS
        while time.monotonic() < give_up:
            if f"Dropped invocation of {self.function}:" in self.run._emulator.directory.log.read_text():
                return "stopped"
            if self._remaining() == 0:
                return "processed"
            time.sleep(0.3)
        return "waiting"

    def _remaining(self) -> int:
        facts = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])["Attributes"]
        return sum(int(facts[f"ApproximateNumberOfMessages{kind}"]) for kind in ("", "NotVisible"))


@pytest.mark.parametrize(
    "handler", ["lead_tasks", "handle_bundle", "consume_tasks", "continue_publication", "jobs"]
)
def test_a_message_that_came_round_sixteen_times_is_processed(run: LocalRun, handler: str) -> None:
    assert Sent(run, handler).outcome() == "processed"


def test_one_of_a_function_that_may_not_loop_is_stopped(run: LocalRun) -> None:
    sent = Sent(run, "consume_acks")

    assert sent.outcome() == "stopped"
    sent.sqs.purge_queue(QueueUrl=sent.url)
