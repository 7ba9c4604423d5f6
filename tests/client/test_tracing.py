"""What spans say of the work, and that neither a message nor an exporter can change the work by them."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

import fanin
from fanin import Failed, KeyReused
from fanin.client import tracing
from fanin.client.sqs_worker.handlers import consumer_of
from fanin.client.sqs_worker.messages import Message
from fanin.client.sqs_worker.performing import ConsumerPerformer
from fanin.errors import StoreUnavailable
from fanin.publishing.items import Row
from fanin.publishing.publish import PublishRequest, publish
from fanin.publishing.row_sources.files import FileSource
from fanin.publishing.sender import Sender
from fanin.testing import FakeFanin
from tests.client.tracing import EXAMPLES, Queue, Spans, assert_one_chain, linked

CONTEXT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203332-00"


@pytest.fixture
def spans(monkeypatch):
    return Spans(monkeypatch)


@pytest.fixture
def fake():
    return FakeFanin()


def record(body, message="m0", **attributes):
    given = {name: {"stringValue": text, "dataType": "String"} for name, text in attributes.items()}
    arn = "arn:aws:sqs:eu-west-1:1:work"
    return {"messageId": message, "body": body, "messageAttributes": given, "eventSourceARN": arn}


def settled(handler, *records):
    failed = handler({"Records": list(records)}, None)["batchItemFailures"]
    return [each["itemIdentifier"] for each in failed]


def messages_of(spans):
    return [span for span in spans.named("process work") if span.parent is not None]


def of(kind, name=None):
    queue = {"messaging.system": "aws_sqs", "messaging.destination.name": "work"}
    return queue | {"messaging.operation.type": kind, "messaging.operation.name": name or kind}


def test_spans_have_the_attributes_of_the_messaging_conventions(fake, spans):
    queue, batch = Queue(), fake.open()
    fanin.send("work", items := batch.add(3), [1, 2, 3], chunk=2, client=queue)
    settled(fake.acks_each(lambda item: None), *queue.event()["Records"])
    send, process, ack = of("send"), of("process"), of("settle", "ack")
    of_batch, two = {"fanin.batch_id": batch.id}, {"messaging.batch.message_count": 2}
    (sent,) = spans.named("send work")

    assert {(span.name, span.kind): dict(span.attributes) for span in spans.get_finished_spans()[-2:]} == {
        ("ack work", SpanKind.CLIENT): ack | two,
        ("process work", SpanKind.CONSUMER): process | two,
    }
    assert [dict(span.attributes) for span in messages_of(spans)] == [
        process | of_batch | {"messaging.message.id": "m0", "fanin.items": f"{items[0]}-1"},
        process | of_batch | {"messaging.message.id": "m1", "fanin.item": items[2]},
    ]
    assert (sent.kind, dict(sent.attributes)) == (SpanKind.PRODUCER, send | two)


def test_each_part_of_a_publication_is_a_span_and_so_is_a_send_that_fails(fake, spans):
    queue, items = Queue(), fake.open().add(2)
    rows = [Row(1, at, item, "1") for at, item in enumerate(items)]
    shape = SimpleNamespace(queue_url="https://sqs/1/work", chunk=None, rate=None, group=None)
    Sender(queue, shape).send(iter(rows))
    with pytest.raises(ZeroDivisionError):
        fanin.send(
            "https://sqs/1/work", items, [1, 2], client=SimpleNamespace(send_message_batch=lambda **_: 1 / 0)
        )
    sent, failed = spans.named("send work")
    carried = {each["MessageAttributes"]["traceparent"]["StringValue"] for each in queue.entries}

    assert [text.split("-")[2] for text in carried] == [trace.format_span_id(sent.context.span_id)]
    assert sent.attributes["messaging.batch.message_count"] == 2
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.attributes["error.type"] == "ZeroDivisionError"


def test_a_published_file_its_messages_their_consumer_the_acks_and_the_end_are_one_chain(spans, tmp_path):
    queue, names, fake = Queue(), {}, FakeFanin()
    (tmp_path / "rows.jsonl").write_text('"a"\n"b"\n"c"\n')
    request = PublishRequest(FileSource(tmp_path / "rows.jsonl"), "https://sqs/1/work", "rows", chunk=2)
    for code in EXAMPLES.values():
        exec(code, names)  # noqa: S102
    with spans.provider.get_tracer("test").start_as_current_span("nightly"):
        publish(fake, Sender(queue, request), request, lambda sent, rows: None)
    work = fake.acks_each(lambda item: trace.get_current_span().add_event(item.row))
    settled(work, *queue.event()["Records"])
    names["on_end"]({"detail": fake.events[0]}, None)

    assert_one_chain(spans)


BAD = [
    *("", "x" * 2000, CONTEXT[:-1], CONTEXT.upper(), f"{CONTEXT}\n", f"{CONTEXT}-more", "\u00e9", 7),
    *(CONTEXT.replace("00-", "ff-", 1), f"00-{'0' * 32}-b7ad6b7169203331-01"),
]
"""Texts, and a number, that are no traceparent."""


@pytest.mark.parametrize(
    "attributes",
    [
        *({}, None, {"traceparent": None}, {"traceparent": "text"}),
        *({"traceparent": {"stringValue": text}} for text in BAD),
    ],
    ids=repr,
)
def test_what_is_no_trace_context_is_no_link_and_its_message_is_worked_on(fake, spans, attributes):
    (item,), worked = fake.open().add(1), []
    bad = record(item) | {"messageAttributes": attributes}

    assert settled(fake.acks(worked.append), bad) == []
    assert worked == [bad]
    assert [linked(span) for span in spans.get_finished_spans()] == [[], [], []]


def test_a_delivery_links_to_each_of_its_senders_once_and_a_message_to_its_own(fake, spans):
    items = fake.open().add(4)
    ten = {f"a{n}": "x" for n in range(8)} | {"traceparent": CONTEXT, "tracestate": "vendor=1"}
    given = [ten, {"traceparent": OTHER}, ten, {"traceparent": CONTEXT, "tracestate": "broken"}]
    records = [record(item, item, **each) for item, each in zip(items, given, strict=True)]
    settled(fake.acks(lambda _: None), *records)
    (delivery,) = [span for span in spans.named("process work") if span.parent is None]
    first, other = 0xB7AD6B7169203331, 0xB7AD6B7169203332

    assert linked(delivery) == [first, other, first]
    assert [linked(span) for span in messages_of(spans)] == [[first], [other], [first], [first]]
    assert [dict(span.links[0].context.trace_state) for span in messages_of(spans)[::3]] == [
        {"vendor": "1"},
        {},
    ]


class Unreadable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("raised", "failed", "error"),
    [
        (Failed("no picture"), [], "fanin.errors.Failed"),
        (ValueError("broken"), ["m0"], "ValueError"),
        (Unreadable(), ["m0"], "tests.client.test_tracing.Unreadable"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_the_function_raises_is_the_error_of_its_message(fake, spans, raised, failed, error):
    item, good = fake.open().add(2)

    def work(record):
        if record["body"] == item:
            raise raised

    assert settled(fake.acks(work), record(item), record(good, "m1")) == failed
    bad, fine = messages_of(spans)
    assert (bad.status.status_code, fine.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    assert bad.attributes["error.type"] == error
    noted = [] if isinstance(raised, Unreadable) else [item]
    assert [event.attributes["fanin.item"] for event in bad.events] == noted
    assert "error.type" not in fine.attributes


def test_a_coroutine_runs_in_the_span_of_its_message(fake, spans):
    items, seen = fake.open().add(2), []

    async def work(record):
        await asyncio.sleep(0)
        seen.append(trace.get_current_span().get_span_context().span_id)
        trace.context_api.attach(trace.context_api.Context())  # and leaves a context behind
        if record["body"] == items[1]:
            raise ValueError("broken")

    performer = ConsumerPerformer(consumer_of(work, fake._transport, {}))
    messages = [Message(record(item, item, traceparent=CONTEXT), 0, 0) for item in items]

    async def both():
        return await asyncio.gather(*map(performer.perform_in_task, messages))

    for message, outcome in zip(messages, asyncio.run(both()), strict=True):
        message.outcome = outcome
    assert performer.settle(messages) == {items[1]}
    found = {span.context.span_id: span for span in spans.named("process work")}
    assert [found[each].attributes["fanin.item"] for each in seen] == list(items)
    assert [found[each].status.status_code for each in seen] == [StatusCode.UNSET, StatusCode.ERROR]
    assert {(span.parent, *linked(span)) for span in spans.get_finished_spans()} == {
        (None, 0xB7AD6B7169203331)
    }


def test_an_ack_without_an_answer_is_an_error(fake, spans, monkeypatch):
    (item,) = fake.open().add(1)

    def unavailable(*_):
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(type(fake._lent), "ack", unavailable)

    assert settled(fake.acks(lambda _: None), record(item)) == ["m0"]
    assert [span.attributes["error.type"] for span in spans.named("ack work")] == ["unanswered"]


class Broken:
    """A processor of which each method raises."""

    def __getattr__(self, name):
        def fail(*_, **__):
            raise RuntimeError("exporter")

        return fail


@pytest.mark.parametrize("broken", ["provider", "processor", "tracer"])
def test_a_failing_exporter_fails_no_work(fake, spans, monkeypatch, caplog, broken):
    if broken == "processor":
        spans.provider.add_span_processor(Broken())
    else:
        provider = Broken() if broken == "provider" else type("P", (), {"get_tracer": lambda *_: Broken()})()
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    tracing._warn.cache_clear()
    queue, worked = Queue(), []
    with fake.open() as batch:
        fanin.send("work", batch.add(2), [1, 2], client=queue)

    assert settled(fake.acks(worked.append), *queue.event()["Records"]) == []
    assert (len(worked), batch.status().result) == (2, "succeeded")
    assert caplog.text.count("OpenTelemetry raised RuntimeError") == 1


def test_a_batch_keeps_the_trace_of_its_first_opening(fake, spans):
    tracer = spans.provider.get_tracer("test")
    with tracer.start_as_current_span("first") as first, fake.open("a", key="k") as batch:
        items = batch.add(1, key="k")
    with tracer.start_as_current_span("second"):
        assert fake.open("a", key="k").id == batch.id
        with pytest.raises(KeyReused, match=r"\(labels\)"):
            fake.open("a", key="k", labels={"b": "c"})
        fake.fail(items)
        fake.ack(fake.reopen(batch.id).items)
        fake.cancel(fake.open(traceparent=CONTEXT).id)
    with trace.use_span(trace.NonRecordingSpan(trace.SpanContext(7, 0, is_remote=False))):
        fake.cancel(fake.open().id)
    own = trace.format_span_id(first.get_span_context().span_id)

    traces = [event.get("traceparent") for event in fake.events]

    assert [text.split("-")[2] for text in traces[:2]] == [own, own]
    assert traces[2:] == [CONTEXT, None]


def test_a_delivery_within_a_span_is_a_part_of_its_trace(fake, spans):
    items = fake.open().add(2)
    with spans.provider.get_tracer("test").start_as_current_span("mine") as mine:
        with pytest.raises(SystemExit):
            settled(fake.acks(lambda _: sys.exit()), record(items[0]))
        settled(fake.acks(lambda _: None), record(items[1]))
        assert trace.get_current_span() is mine

    assert len({span.context.trace_id for span in spans.get_finished_spans()}) == 1
    assert {span.status.status_code for span in spans.get_finished_spans()} == {StatusCode.UNSET}
    assert len(spans.get_finished_spans()) == 1 + 2 + 3


@pytest.mark.parametrize("given", [None, CONTEXT])
def test_without_a_provider_messages_and_events_have_the_trace_that_was_given_to_their_batch(fake, given):
    queue = Queue()
    with fake.open(traceparent=given) if given else fake.open() as batch:
        items = batch.add(3)
        fanin.send("work", items[:2], [1, 2], client=queue)
        fanin.send("work", items[2:], [3], chunk=2, client=queue)
    settled(fake.acks(lambda _: None), *queue.event()["Records"][:2])
    fake.ack(items)
    carried = [each.get("MessageAttributes", {}) for each in queue.entries]

    assert carried == [{"traceparent": {"DataType": "String", "StringValue": given}} if given else {}] * 3
    assert fake.events[0].get("traceparent") == given
    assert tracing.processing(queue.event()["Records"][0]) is tracing.OFF
