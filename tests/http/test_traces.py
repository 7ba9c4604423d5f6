"""docs/traces.md on the local run: messages of SQS and the event on the bus carry the trace context."""

from __future__ import annotations

import json

import pytest

from fanin.aws.messaging.receiving import record_of
from fanin.client.consuming.chunks import range_of
from fanin.publishing.items import lent_client
from tests.client.tracing import ARN, EXAMPLES, Spans, assert_one_chain


def received(sqs, url, count):
    """So many messages of the queue, in the order of their rows, as a function gets them."""
    found = {}
    while len(found) < count:
        asked = {"MaxNumberOfMessages": 10, "WaitTimeSeconds": 5, "MessageAttributeNames": ["All"]}
        for message in sqs.receive_message(QueueUrl=url, **asked).get("Messages", []):
            found[message["Body"]] = record_of(message, ARN)
    return [record for _, record in sorted(found.items())]


def test_publisher_message_consumer_ack_and_ending_event_are_one_linked_chain(run, bus):
    sqs, names = run.client("sqs"), {}
    url = sqs.create_queue(QueueName="work")["QueueUrl"]
    with pytest.MonkeyPatch.context() as patch:
        spans = Spans(patch)
        for code in EXAMPLES.values():
            exec(code.replace("http://127.0.0.1:8787", run.url), names)  # noqa: S102
        with lent_client(sqs):
            names["publish"](["a", "b", "c"])
        records = received(sqs, url, 2)
        names["work"]({"Records": records}, None)
        detail, *_ = bus.of(range_of(json.loads(records[0]["body"])["items"]).batch_id)
        names["on_end"]({"detail": detail}, None)

    assert_one_chain(spans)
    assert {each["messageAttributes"]["traceparent"]["stringValue"][3:35] for each in records} == {
        detail["traceparent"][3:35]
    }
