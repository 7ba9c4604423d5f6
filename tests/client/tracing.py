"""OpenTelemetry's SDK in a test, and a queue whose messages arrive as Lambda passes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fanin.aws.messaging.receiving import record_of

ARN = "arn:aws:sqs:eu-west-1:1:work"
PAGE = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()
EXAMPLES = dict(re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))


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


def assert_one_chain(spans: Spans) -> None:
    """Publisher, messages, consumer, acks and what starts at the end are linked one to the next."""
    ((nightly,), (send,), (release,)) = map(spans.named, ("nightly", "send work", "release"))
    delivery, *messages = sorted(spans.named("process work"), key=lambda span: span.start_time)
    (ack,) = spans.named("ack work")

    assert send.parent.span_id == nightly.context.span_id
    assert [delivery.parent, release.parent] == [None, None]
    assert [span.parent.span_id for span in (*messages, ack)] == [delivery.context.span_id] * 3
    assert [linked(span) for span in (delivery, *messages, ack)] == [[send.context.span_id]] * 4
    assert linked(release) == [nightly.context.span_id]
    assert [[event.name for event in span.events] for span in messages] == [["a", "b"], ["c"]]
