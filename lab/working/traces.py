"""What traces cost a delivery: bytes of a message and of its spans, and CPU beside a delivery without any.

``python -m lab.working.traces`` lets a consumer, over the tracker in memory, settle deliveries of ten
messages of an item each, in turns with and without a tracer provider, and prints medians of the CPU time.
The provider has a ``BatchSpanProcessor`` whose exporter drops the spans: a real one encodes and sends them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from fanin.testing import FakeFanin

MESSAGES = 10
CONTEXT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ATTRIBUTE = {"traceparent": {"stringValue": CONTEXT, "dataType": "String"}}
ATTRIBUTE_BYTES = len("traceparent" + "String" + CONTEXT)
"""What SQS counts of the attribute of a message: its name, its type and its value."""


class Dropping(SpanExporter):
    """Counts the spans, and keeps the last ones that came together."""

    count = 0
    last: Sequence[ReadableSpan] = ()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.count += len(spans)
        self.last = spans
        return SpanExportResult.SUCCESS


def deliveries(fake: FakeFanin, count: int) -> list[dict[str, Any]]:
    """Return events of Lambda, each with the messages of items of their own."""
    items = list(fake.open().add(count * MESSAGES))
    arn = "arn:aws:sqs:eu-west-1:1:work"
    records = [
        {"messageId": item, "body": item, "messageAttributes": ATTRIBUTE, "eventSourceARN": arn}
        for item in items
    ]
    return [{"Records": records[at : at + MESSAGES]} for at in range(0, len(records), MESSAGES)]


def cpu_of(handler: Callable[[Any, Any], Any], events: Sequence[Any], after: Callable[[], object]) -> float:
    """Return the CPU microseconds of a delivery, with those of *after*, which follows all of them."""
    started = time.process_time()
    for event in events:
        handler(event, None)
    after()
    return (time.process_time() - started) / len(events) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--deliveries", type=int, default=300, help="of a round")
    options = parser.parse_args()
    fake, exporter = FakeFanin(), Dropping()
    provider, none = TracerProvider(), trace.get_tracer_provider
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=20_000))
    handler = fake.acks(lambda _: None)
    found: dict[str, list[float]] = {"none": [], "traced": []}
    for _ in range(options.rounds):
        for name, get in (("none", none), ("traced", lambda: provider)):
            trace.get_tracer_provider = get
            events = deliveries(fake, options.deliveries)
            found[name].append(cpu_of(handler, events, provider.force_flush))
    traced = options.rounds * options.deliveries
    off, on = median(found["none"]), median(found["traced"])
    print(f"CPU of a delivery of {MESSAGES}: {off:,.0f} us without, {on:,.0f} us with traces")
    print(f"of a message: {(on - off) / MESSAGES:,.1f} us more")
    print(f"bytes of a message's attribute: {ATTRIBUTE_BYTES}")
    size = sum(len(span.to_json(indent=None)) for span in exporter.last) / len(exporter.last)
    print(f"spans of a delivery: {exporter.count / traced:g}, each of about {size:,.0f} bytes as JSON")


if __name__ == "__main__":
    main()
