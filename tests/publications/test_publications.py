"""A publication is continued by messages: each row has one item, wherever its function crashes."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

import pytest
from moto import mock_aws

from fanin.aws.settings.tracking import Tables
from fanin.errors import InvalidRequest, KeyReused, NotFound
from fanin.pacing import each_in_turn
from fanin.publications import reading
from fanin.publications.dynamodb import DynamoPlaces
from fanin.publications.model import Allowed, Order, check_allowed
from fanin.publications.service import Publications, Went
from fanin.publishing.sender import Sender
from fanin.publishing.sources import objects
from fanin.tracker import Tracker
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.rules.model import State
from tests.contract import moto_clients, tables
from tests.publishing.interrupted import Killed, Network, Watched
from tests.publishing.test_publish import Queue

QUEUE = "arn:aws:sqs:us-east-1:123456789012:work"
ROWS = 25
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
        self.work, self.messages = Queue(), []
        self.put(LINES)

    def put(self, body):
        self.s3.put_object(Bucket="lake", Key="rows.jsonl", Body=body)

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
            return Sender(work, shape, sleep=lambda _: None, each=each_in_turn)

        send_on = watched(self, "send_on").send_on
        return Publications(
            tracker, DynamoPlaces(client, "Batches"), watched(self.s3, "get_object"), sender_of, send_on
        )

    def send_on(self, body):
        self.messages.append(body)

    def deliver(self, network=None, has_time=lambda: False):
        """Handle the first message, which comes again if its process is killed."""
        order = Order.parse(self.messages[0])
        went = self.publications(network).go_on(order, has_time)
        self.messages.pop(0)
        return went

    def run(self):
        return [self.deliver() for _ in iter(lambda: bool(self.messages), False)]


@pytest.fixture
def world(monkeypatch):
    monkeypatch.setattr(objects, "RANGE_BYTES", 64)
    monkeypatch.setattr(reading, "PART_BYTES", 64)
    with mock_aws():
        yield World()


ORDER = Order("t", "s3://lake/rows.jsonl", QUEUE)


def test_row_k_is_item_k_in_as_many_invocations_as_it_takes_and_the_batch_is_closed(world):
    batch, place = world.publications().start(ORDER, "catalog", "key")
    went = world.run()
    found, end = world.publications().get("t", batch.batch_id)

    assert sorted(row["n"] for row in world.work.rows().values()) == list(range(ROWS))
    assert went == [Went.ON] * (len(went) - 1) + [Went.PUBLISHED]
    assert len(went) > 2
    assert (found.state, found.total, found.labels["source"]) == (State.CLOSED, ROWS, ORDER.source)
    assert (place.read, end.read, end.rows) == (0, len(LINES), ROWS)
    with pytest.raises(NotFound):
        world.publications().get("other", batch.batch_id)


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_request_and_delivered_again_no_row_has_two_items(world, after):
    for fatal in itertools.count(1):
        world.work.bodies.clear()
        batch, _ = world.publications().start(ORDER, "catalog", f"key-{fatal}-{after}")
        network = Network(fatal, after)
        with suppress(Killed):
            world.deliver(network, lambda: True)
        was_killed = bool(world.messages)
        world.run()
        ids = world.work.rows()

        assert sorted(row["n"] for row in ids.values()) == list(range(ROWS))
        assert world.publications().get("t", batch.batch_id)[0].total == ROWS
        if not was_killed:
            assert fatal > 20
            return


def test_a_message_that_comes_twice_is_handled_by_one_of_two_processes(world):
    world.publications().start(ORDER, "catalog", "key")
    (message,) = world.messages
    first = world.publications()
    publish, seen = first.places.advance, []

    class Overtaken(DynamoPlaces):
        def advance(self, batch, before, after):
            if not seen:
                seen.append(world.publications().go_on(Order.parse(message), lambda: True))
            publish(batch, before, after)

    second = Publications(
        first.tracker,
        Overtaken(world.dynamodb, "Batches"),
        first.client,
        first.sender_of,
        first.send_on,
    )
    went = second.go_on(Order.parse(message), lambda: True)

    assert (went, seen) == (Went.OVERTAKEN, [Went.PUBLISHED])
    assert sorted(row["n"] for row in world.work.rows().values()) == list(range(ROWS))


def test_a_cancel_stops_it_at_the_next_part(world):
    batch, _ = world.publications().start(ORDER, "catalog", "key")
    world.deliver()
    sent = len(world.work.bodies)
    world.publications().tracker.cancel("t", batch.batch_id)

    assert world.run() == [Went.STOPPED]
    assert (len(world.work.bodies), world.messages) == (sent, [])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (LINES + b"1\n", "s3://lake/rows.jsonl was changed or deleted while it was read"),
        (None, "s3://lake/rows.jsonl, line 51: it is not JSON in UTF-8"),
    ],
)
def test_another_object_or_a_row_that_cannot_be_sent_cancels_the_batch_with_the_reason(world, body, reason):
    if body is None:
        world.put(LINES + b"{\n")
    batch, _ = world.publications().start(ORDER, "catalog", "key")
    world.deliver()
    if body:
        world.put(body)

    assert world.run()[-1] is Went.STOPPED
    found, _ = world.publications().get("t", batch.batch_id)
    assert found.state is State.CANCELLED
    assert found.end_reason.startswith(reason)


def test_a_start_that_is_repeated_returns_its_batch_and_one_of_another_object_is_refused(world):
    first, _ = world.publications().start(ORDER, "catalog", "key")
    again, _ = world.publications().start(ORDER, "catalog", "key")
    world.run()

    assert first.batch_id == again.batch_id
    assert len(world.work.rows()) == ROWS
    world.put(b"1\n")
    with pytest.raises(KeyReused):
        world.publications().start(ORDER, "catalog", "key")


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
