"""A publication is continued by messages: each row has one item, wherever its function crashes."""

from __future__ import annotations

import itertools
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from fanin.errors import InvalidRequest, KeyReused, NotFound, StoreUnavailable
from fanin.grouper.use_cases.consuming import consume
from fanin.pacing import each_in_turn
from fanin.publishing.row_sources import objects
from fanin.publishing.sender import Sender
from fanin.s3_publications import reading
from fanin.s3_publications.allowing import Allowed, check_allowed, orders_of
from fanin.s3_publications.dynamodb import DynamoPositions
from fanin.s3_publications.model import Order
from fanin.s3_publications.object_created import Created
from fanin.s3_publications.parsing import message_of
from fanin.s3_publications.service import Publications, StepResult
from fanin.settings.tracking import Tables
from fanin.tracker import ListQuery, OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.rules.model import State
from functions.wiring import s3_publications
from tests.contract import moto_clients, tables
from tests.publishing.interrupted import Killed, Network, Watched
from tests.publishing.test_publish import Queue

QUEUE = "arn:aws:sqs:us-east-1:123456789012:work"
ROWS = 13
LINES = b"".join(b'{"n": %d}\n\n' % n for n in range(ROWS))


@dataclass(frozen=True)
class Shape:
    queue_url: str
    chunk: int | None
    rate: float | None
    group: str | None


class World:
    """A bucket, the tables and two queues; a process of it is made anew for each message."""

    def __init__(self):
        self.s3, self.dynamodb = moto_clients.client("s3"), moto_clients.client("dynamodb")
        self.s3.create_bucket(Bucket="lake")
        tables.create_tables(self.dynamodb)
        self.work, self.messages, self.delays, self.slept = Queue(), [], [], 0.0
        self.put(LINES)

    def put(self, body):
        """Store the object, and return the event of S3."""
        etag = self.s3.put_object(Bucket="lake", Key="rows.jsonl", Body=body)["ETag"].strip('"')
        return Created(ORDER.source, etag, len(body))

    def publications(self, network=None, part=4):
        def watched(target, *requests):
            return Watched(target, network, requests) if network else target

        client = watched(self.dynamodb, *("get_item", "put_item", "update_item", "transact_write_items"))
        work = watched(self.work, "send_message_batch")
        tracker = Tracker(
            DynamoStore(client, Tables("Batches", "Pages")), fresh_for=timedelta(0), pause=lambda _: None
        )

        def sender_of(order):
            shape = Shape("http://sqs/1/work", part, order.rate, order.group)
            return Sender(work, shape, sleep=self.sleep, clock=lambda: 0.0, each=each_in_turn)

        send_on = watched(self, "send_on").send_on
        return Publications(
            tracker, DynamoPositions(client, "Batches"), watched(self.s3, "get_object"), sender_of, send_on
        )

    def sleep(self, seconds):
        self.slept += seconds

    def send_on(self, body, delay_seconds=0):
        self.messages.append(body)
        self.delays.append(delay_seconds)

    def deliver(self, network=None, has_time=lambda: False, part=4):
        """Handle the first message, which comes again if its process is killed."""
        order = message_of(self.messages[0])
        result = self.publications(network, part).go_on(order, has_time)
        self.messages.pop(0)
        return result

    def run(self):
        return [self.deliver() for _ in iter(lambda: bool(self.messages), False)]


@pytest.fixture
def world(monkeypatch):
    monkeypatch.setattr(objects, "RANGE_BYTES", 64)
    monkeypatch.setattr(reading, "PART_BYTES", 64)
    monkeypatch.setattr(reading, "BATCH_BYTES", 1_000)
    with mock_aws():
        yield World()


ORDER = Order("t", "s3://lake/rows.jsonl", QUEUE)
CATALOG = OpenBatch(user_key="catalog")
CREATED = Allowed("s3://lake/in/", QUEUE, on_created=True, chunk=2, rate=50)


def event_of(key, *, of=None, **more):
    stored = {"key": key, "size": 1, "etag": "e", "version-id": "v"} | (of or {})
    detail = {"bucket": {"name": "lake"}, "object": stored}
    return json.dumps({"source": "aws.s3", "detail-type": "Object Created", "detail": detail} | more)


def test_row_k_is_item_k_in_as_many_invocations_as_it_takes_and_the_batch_is_closed(world):
    batch, position = world.publications().start(ORDER, CATALOG, "key")
    result = world.run()
    found, end = world.publications().get("t", batch.batch_id)

    assert sorted(row["n"] for row in world.work.rows().values()) == list(range(ROWS))
    assert result == [StepResult.ON] * (len(result) - 1) + [StepResult.PUBLISHED]
    assert len(result) > 1
    assert (found.state, found.total, found.labels["source"]) == (State.CLOSED, ROWS, ORDER.source)
    assert (position.read, end.read, end.rows) == (0, len(LINES), ROWS)
    with pytest.raises(NotFound):
        world.publications().get("other", batch.batch_id)


@pytest.mark.parametrize(("rate", "delays"), [(1.0, [0, 10, 10]), (2.0, [0, 5, 5]), (2.5, [0]), (None, [0])])
def test_at_a_slow_rate_a_message_waits_and_no_function(world, rate, delays):
    world.put(b"1\n" * 25)
    world.publications().start(replace(ORDER, rate=rate), CATALOG, "key")
    while world.messages:
        world.deliver(has_time=lambda: True, part=1)

    assert (world.delays, len(world.work.bodies)) == (delays, 25)
    assert (world.slept > 1) == (rate == 2.5)


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_request_and_delivered_again_no_row_has_two_items(world, after):
    for fatal in itertools.count(1):
        world.work.bodies.clear()
        batch, _ = world.publications().start(ORDER, CATALOG, f"key-{fatal}-{after}")
        network = Network(fatal, after)
        with suppress(Killed):
            world.deliver(network, lambda: True)
        was_killed = bool(world.messages)
        world.run()
        ids = world.work.rows()

        assert sorted(row["n"] for row in ids.values()) == list(range(ROWS))
        assert world.publications().get("t", batch.batch_id)[0].total == ROWS
        if not was_killed:
            assert fatal > 15
            return


def test_a_start_that_is_repeated_is_handled_by_one_process_and_by_the_other_one_if_that_crashes(
    world, caplog
):
    for _ in range(2):
        world.publications().start(ORDER, CATALOG, "key")
    message = world.messages.pop()
    caplog.set_level("INFO", "fanin")
    first = world.publications()
    publish, seen = first.positions.advance, []

    class Overtaken(DynamoPositions):
        def advance(self, batch, before, after):
            if not seen:
                seen.append(world.publications().go_on(message_of(message), lambda: True))
            publish(batch, before, after)

    second = Publications(
        first.tracker,
        Overtaken(world.dynamodb, "Batches"),
        first.client,
        first.sender_of,
        first.send_on,
    )
    handled = consume(
        [{"messageId": "m", "body": message}],
        lambda body: second.go_on(message_of(body), lambda: True),
        lambda: True,
    )

    assert (handled.failed, [each.exc_info for each in caplog.records]) == (("m",), [None])
    assert caplog.records[0].levelname == "INFO"
    assert (seen, world.run()) == ([StepResult.PUBLISHED], [StepResult.PUBLISHED])
    assert sorted(row["n"] for row in world.work.rows().values()) == list(range(ROWS))


def test_a_cancel_stops_it_at_the_next_part(world):
    batch, _ = world.publications().start(ORDER, CATALOG, "key")
    world.deliver()
    sent = len(world.work.bodies)
    world.publications().tracker.cancel("t", batch.batch_id)

    assert world.run() == [StepResult.STOPPED]
    assert (len(world.work.bodies), world.messages) == (sent, [])


ROW = {"n": "1", "t": 'a "b", c'}


def published_csv(world, body):
    """The rows that are sent of an object of CSV, and the reason of a batch that did not close."""
    world.s3.put_object(Bucket="lake", Key="rows.csv", Body=body)
    batch, _ = world.publications().start(replace(ORDER, source="s3://lake/rows.csv"), CATALOG, "key")
    world.run()
    found, _ = world.publications().get("t", batch.batch_id)
    return list(world.work.rows().values()), found.end_reason, found.total


def test_the_rows_of_csv_have_the_names_of_its_header_in_every_part_and_invocation(world):
    lines = [b'"%d","a ""b"", c"\r\n' % n + b"\n" * (n % 2) for n in range(ROWS)]
    rows, reason, total = published_csv(world, "\ufeffn,t\r\n".encode() + b"".join(lines))

    assert (reason, total) == (None, ROWS)
    assert sorted(rows, key=lambda row: int(row["n"])) == [ROW | {"n": str(n)} for n in range(ROWS)]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'n,t\n1,"a\nb"\n', "line 2: it is no row of CSV in one line (unexpected end of data)"),
        (b"n,t\n1,\xff\n", "line 2: it is not UTF-8"),
        (b"n,t\n1\n", "line 2: it has 1 values, and the header 2 names"),
        (b"n,n\n1,2\n", "line 1: its header has a name twice"),
        (b"n" * 3_000, "line 1: its message has more than"),
        (b"n,t\n", None),
        (b"", None),
    ],
)
def test_csv_that_is_not_a_row_a_line_cancels_the_batch_with_the_reason(world, body, reason):
    rows, found, _ = published_csv(world, body)

    assert rows == []
    assert (found or "").startswith(f"s3://lake/rows.csv, {reason}" if reason else "")
    assert (found is None) is (reason is None)


@pytest.mark.parametrize(
    ("first", "then", "reason"),
    [
        (LINES, LINES + b"1\n", "s3://lake/rows.jsonl was changed or deleted while it was read"),
        (LINES + b"{\n", None, "s3://lake/rows.jsonl, line 27: it is not JSON in UTF-8"),
        (LINES + b"1" * 3_000, None, "s3://lake/rows.jsonl, line 27: its message has more than"),
        (None, None, "there is no object s3://lake/rows.jsonl; check the bucket and the key"),
    ],
)
def test_what_cannot_be_read_or_sent_cancels_the_batch_with_the_reason(world, first, then, reason):
    world.put(first or b"")
    batch, _ = world.publications().start(ORDER, CATALOG, "key")
    if first is None:
        world.s3.delete_object(Bucket="lake", Key="rows.jsonl")
    world.deliver()
    if then:
        world.put(then)
        world.deliver()

    world.run()
    found, _ = world.publications().get("t", batch.batch_id)
    assert found.state is State.CANCELLED
    assert found.end_reason.startswith(reason)


@pytest.mark.parametrize("source", ["s3://lake/row.jsonl", "s3://lakes/rows.jsonl"])
def test_an_object_that_is_missing_is_refused_by_one_request_before_a_batch_is_opened(world, source):
    world.s3.put_object(Bucket="lake", Key="row.jsonl.ndjson", Body=LINES)
    asked = []
    world.s3.meta.events.register("before-call.s3", lambda model, **_: asked.append(model.name))

    with pytest.raises(InvalidRequest, match=f"there is no object {source}; check") as refused:
        world.publications().start(replace(ORDER, source=source), CATALOG, "key")
    assert (refused.value.field, world.messages, asked) == ("source", [], ["ListObjectsV2"])
    assert world.publications().tracker.list("t", ListQuery()).batches == ()
    asked.clear()
    world.publications().start(ORDER, CATALOG, "key")
    assert asked == ["ListObjectsV2"]


def test_a_bucket_that_may_not_be_listed_is_named_in_the_refusal_and_throttling_is_not_one(world):
    def answering(code):
        error = ClientError({"Error": {"Code": code}, "ResponseMetadata": {}}, "ListObjectsV2")
        client = Mock(list_objects_v2=Mock(side_effect=error))
        return replace(world.publications(), client=client)

    with pytest.raises(InvalidRequest, match=r"in s3://lake: .* list it \(s3:ListBucket\)"):
        answering("AccessDenied").start(ORDER, CATALOG, "key")
    with pytest.raises(StoreUnavailable):
        answering("SlowDown").start(ORDER, CATALOG, "key")


def test_a_start_that_is_repeated_after_its_object_was_deleted_returns_its_batch(world):
    first, _ = world.publications().start(ORDER, CATALOG, "key")
    world.s3.delete_object(Bucket="lake", Key="rows.jsonl")

    assert world.publications().start(ORDER, CATALOG, "key")[0].batch_id == first.batch_id
    for key in ("other", None):
        with pytest.raises(InvalidRequest, match="there is no object"):
            world.publications().start(ORDER, CATALOG, key)


def test_a_message_that_sqs_refuses_for_good_cancels_the_batch_with_the_reason(world):
    refusal = {"Id": "0", "SenderFault": True, "Code": "InvalidParameterValue", "Message": "too long"}
    world.work.failures.append([refusal])
    batch, _ = world.publications().start(ORDER, CATALOG, "key")

    assert world.run() == [StepResult.STOPPED]
    found = world.publications().get("t", batch.batch_id)[0]
    assert (found.state, found.end_reason) == (
        State.CANCELLED,
        "SQS refuses a message: InvalidParameterValue too long",
    )


def test_a_long_key_leaves_room_for_the_reason(world):
    key = f"{'k' * 990}.jsonl"
    world.s3.put_object(Bucket="lake", Key=key, Body=b"{\n")
    batch, _ = world.publications().start(replace(ORDER, source=f"s3://lake/{key}"), CATALOG, "key")
    world.run()

    reason = world.publications().get("t", batch.batch_id)[0].end_reason
    assert "k.jsonl, line 1: it is not JSON in UTF-8" in reason


def test_a_queue_that_does_not_exist_cancels_the_batch_with_the_reason(world, monkeypatch):
    client = moto_clients.client("sqs")
    monkeypatch.setattr(s3_publications.clients, "sqs", SimpleNamespace(within=lambda _region: client))
    batch, _ = world.publications().start(ORDER, CATALOG, "key")
    order = message_of(world.messages[0])

    found = replace(world.publications(), sender_of=s3_publications.sender_of)
    assert found.go_on(order, lambda: True) is StepResult.STOPPED
    reason = world.publications().get("t", batch.batch_id)[0].end_reason
    assert reason == f"there is no queue {QUEUE}; create it, or correct the setting publications"


@pytest.mark.parametrize(("cap", "most"), [({"max_items": 7}, "7"), ({"max_cost": 0.00002}, "$0.00002")])
def test_rows_that_pass_a_cap_cancel_the_batch_with_the_reason_and_none_of_their_part_is_sent(
    world, cap, most
):
    world.put(b"1\n" * 50)
    batch, _ = world.publications().start(replace(ORDER, rate=1.0), replace(CATALOG, **cap), "key")

    result = world.run()
    found = world.publications().get("t", batch.batch_id)[0]
    assert result[-1] is StepResult.STOPPED
    assert found.state is State.CANCELLED
    assert found.end_reason.startswith(f"{ORDER.source} passes a cap of its batch: ")
    assert f" {most}" in found.end_reason
    assert len(world.work.rows()) == found.total < 50


def test_the_messages_and_the_batch_are_linked_to_the_trace_of_the_caller(world):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    batch, _ = world.publications().start(ORDER, replace(CATALOG, traceparent=trace), "key")
    world.run()

    assert world.publications().get("t", batch.batch_id)[0].traceparent == trace
    assert world.work.traces == {trace}


def test_a_publication_that_the_setting_no_longer_allows_is_cancelled_with_the_reason(world):
    batch, _ = world.publications().start(ORDER, CATALOG, "key")
    order = message_of(world.messages[0])

    def check(_):
        raise InvalidRequest("this deployment publishes none")

    assert replace(world.publications(), check=check).go_on(order, lambda: True) is StepResult.STOPPED
    found = world.publications().get("t", batch.batch_id)[0]
    assert (found.end_reason, world.work.bodies) == ("this deployment publishes none", [])


def test_a_start_that_is_repeated_returns_its_batch_and_one_of_another_order_is_refused(world):
    first, _ = world.publications().start(ORDER, CATALOG, "key")
    again, _ = world.publications().start(ORDER, CATALOG, "key")
    world.run()

    assert first.batch_id == again.batch_id
    assert len(world.work.rows()) == ROWS
    world.publications().start(ORDER, CATALOG, "key")
    assert world.messages == []


@pytest.mark.parametrize(
    ("changed", "options", "named"),
    [
        ({"chunk": 2}, {}, "chunk"),
        ({"rate": 5, "group": "g"}, {}, "rate, messageGroup"),
        ({"queue": f"{QUEUE}-2"}, {"callback": "hook"}, "queue, callback"),
        ({"source": "s3://lake/other.jsonl"}, {}, "source"),
        ({}, {"deadline": timedelta(hours=1)}, "deadline"),
    ],
)
def test_a_start_with_the_key_of_another_one_says_what_differs_and_what_to_do(world, changed, options, named):
    world.s3.put_object(Bucket="lake", Key="other.jsonl", Body=LINES)
    first, _ = world.publications().start(ORDER, CATALOG, "key")

    with pytest.raises(KeyReused) as refused:
        world.publications().start(replace(ORDER, **changed), replace(CATALOG, **options), "key")
    assert str(refused.value) == (
        f"idempotency key 'key' was used for batch {first.batch_id} with other settings ({named}): pass the"
        " same ones, or use a new key, and cancel that batch if it is not wanted any more"
    )


def test_each_content_of_an_object_is_published_once_by_its_event_and_ends_the_one_before(world):
    first, second = world.put(b'{"n": 99}\n'), world.put(LINES)

    def end_of(created):
        world.publications().start_created(ORDER, created)
        batch_id = message_of(world.messages[0]).batch_id
        world.run()
        return world.publications().get("t", batch_id)[0]

    assert end_of(first).end_reason.startswith("s3://lake/rows.jsonl was changed")
    assert (end_of(second).state, len(world.work.rows())) == (State.CLOSED, ROWS)
    assert world.publications().start_created(ORDER, second) is StepResult.STARTED
    assert (world.messages, len(world.work.rows())) == ([], ROWS)
    deleted = replace(second, version="v2")
    world.s3.delete_object(Bucket="lake", Key="rows.jsonl")
    assert end_of(deleted).end_reason.startswith("there is no object s3://lake/rows.jsonl")


def test_an_event_that_comes_again_after_a_crash_goes_on_with_its_batch(world):
    created = world.put(LINES)
    for fatal in range(1, 9):
        with suppress(Killed):
            world.publications(Network(fatal)).start_created(ORDER, created)
    world.publications().start_created(ORDER, created)
    batches = {message_of(each).batch_id for each in world.messages}
    world.run()

    assert len(batches) == 1
    assert len(world.work.rows()) == ROWS


@pytest.mark.parametrize("name", ["7f8d1d3c-0000-4000-8000-000000000000", "a" * 257])
def test_an_object_whose_name_is_no_user_key_is_published_without_one(world, name):
    order = replace(ORDER, source=f"s3://lake/{name}.jsonl")

    assert world.publications().start_created(order, Created(order.source, "e", 1)) is StepResult.STARTED
    assert world.publications().get("t", message_of(world.messages[0]).batch_id)[0].user_key is None


def test_the_event_of_an_object_whose_publication_was_cancelled_starts_no_other(world):
    created = world.put(LINES)
    world.publications().start_created(ORDER, created)
    tracker = world.publications().tracker
    tracker.cancel("t", message_of(world.messages[0]).batch_id)

    assert (world.publications().start_created(ORDER, created), len(world.messages)) == (
        StepResult.OVERTAKEN,
        1,
    )


@pytest.mark.parametrize(
    ("tenant", "source", "queue"),
    [
        ("other", "s3://lake/in/rows.jsonl", QUEUE),
        ("own", "s3://lake/out/rows.jsonl", QUEUE),
        ("own", "s3://lake/in/rows.jsonl", f"{QUEUE}-2"),
        ("b", "s3://lake/in/rows.jsonl", f"{QUEUE}-b2"),
    ],
)
def test_only_the_sources_queues_and_tenants_of_the_setting_are_published(tenant, source, queue):
    allowed = [Allowed("s3://lake/in/", QUEUE), Allowed("s3://lake/in/", f"{QUEUE}-b", ("b",))]
    check_allowed(Order("own", "s3://lake/in/rows.jsonl", QUEUE), allowed, "own")
    check_allowed(Order("b", "s3://lake/in/rows.jsonl", f"{QUEUE}-b"), allowed, "own")

    with pytest.raises(InvalidRequest, match="publishes no"):
        check_allowed(Order(tenant, source, queue), allowed, "own")


@pytest.mark.parametrize(
    "changed",
    [
        {"batch_id": ""},
        {"tenant": None},
        {"source": "s3://lake/in/../rows.jsonl"},
        {"source": "s3://lake/rows.csv.gz"},
        {"queue": f"{QUEUE}.fifo"},
        {"chunk": True},
        {"chunk": 10_001},
        {"rate": 0.5},
        {"rate": float("nan")},
        {"group": "a b"},
        {"more": 1},
    ],
)
def test_a_message_that_is_no_publication_is_refused(changed):
    order = asdict(replace(ORDER, batch_id="b"))
    assert message_of(json.dumps({"publication": order})) == Order(**order)

    with pytest.raises(InvalidRequest):
        message_of(json.dumps({"publication": order | changed}))


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[]",
        '"a"',
        '{"publication": []}',
        event_of(1),
        event_of("a", source="mine"),
        event_of("a", detail=[]),
        event_of("a", of={"size": "1"}),
        event_of("a", of={"size": -1}),
        event_of("a", of={"etag": 'a"b'}),
        event_of("a", of={"etag": None}),
        event_of("a", of={"version-id": 1}),
    ],
)
def test_a_message_that_is_no_event_of_a_created_object_is_refused(body):
    with pytest.raises(InvalidRequest):
        message_of(body)


def test_objects_that_are_created_are_published_as_the_setting_has_them_or_refused():
    others = [replace(CREATED, on_created=False, chunk=None, rate=None), replace(CREATED, tenants=("a",))]

    assert message_of(event_of("in/a.jsonl")) == Created("s3://lake/in/a.jsonl", "e", 1, "v")
    assert orders_of("s3://lake/out/rows.jsonl", [CREATED], "own") == []
    assert [each.tenant for each in orders_of("s3://lake/in/rows.jsonl", [CREATED, *others], "own")] == [
        "own",
        "a",
    ]
    for key in ("rows.csv.gz", "../rows.jsonl", "gr\u00fcn.jsonl"):
        with pytest.raises(InvalidRequest):
            orders_of(f"s3://lake/in/{key}", [CREATED], "own")


def test_an_object_that_cannot_be_published_is_in_the_log(monkeypatch, caplog):
    monkeypatch.setattr(s3_publications, "_allowed", lambda: (CREATED,))
    monkeypatch.setattr(s3_publications.tracking, "settings", lambda: SimpleNamespace(tenant="own"))

    assert s3_publications.orders_of_created(message_of(event_of("in/rows.csv.gz"))) == []
    assert s3_publications.orders_of_created(message_of(event_of("out/other.csv"))) == []
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "s3://lake/in/rows.csv.gz was created, and is not published: the key"
    )
