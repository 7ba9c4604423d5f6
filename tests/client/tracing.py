"""OpenTelemetry's SDK in a test, and a queue whose messages arrive as Lambda passes them."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fanin.aws.messaging.receiving import record_of

ARN = "arn:aws:sqs:eu-west-1:1:work"


class Spans(InMemorySpanExporter):
    """What a program has recorded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self))
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: self.provider)

    def named(self, name: str) -> list:
        return [span for span in self.get_finished_spans() if span.name == name]


class Queue:
    """Keeps the entries that ``fanin.send`` sends."""

    def __init__(self):
        self.entries = []

    def get_queue_url(self, QueueName):  # noqa: N803 - the API's names
        return {"QueueUrl": f"https://sqs.eu-west-1.amazonaws.com/1/{QueueName}"}

    def send_message_batch(self, QueueUrl, Entries):  # noqa: N803
        self.entries += Entries
        return {}

    def event(self):
        received = [
            {"MessageId": f"m{n}", "ReceiptHandle": "r", "MD5OfBody": "", "Body": each["MessageBody"]}
            | {"MessageAttributes": each.get("MessageAttributes", {})}
            for n, each in enumerate(self.entries)
        ]
        return {"Records": [record_of(each, ARN) for each in received]}


def linked(span) -> list[int]:
    return [link.context.span_id for link in span.links]
