"""Where the index lists a queue, in use and asleep, and the depth that the sweep keeps of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from moto import mock_aws

from fanin.queue import Effects, MemoryDoorbell, QueueContext, QueueKey
from fanin.queue.administration import removing
from fanin.queue.administration.creating import create_row
from fanin.queue.administration.describing import CountedDepth
from fanin.queue.administration.raising import raise_parts
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.rules.config import Phase, QueueConfig
from fanin.queue.rules.keys import DAY_MINUTES, visit_minute
from fanin.queue.rules.model import Accuracy, Depth
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table

KEY = QueueKey("t#1", "q")


@pytest.fixture
def client():
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        yield client


@pytest.mark.parametrize(
    ("phase", "is_listed", "is_visited"),
    [
        ({}, True, False),
        ({"idle_us": 1}, True, False),
        ({"idle_us": 1, "asleep_us": 2}, False, True),
        ({"idle_us": 1, "removing_us": 2}, True, False),
        ({"removing_us": 2, "removed_us": 3}, False, False),
    ],
)
def test_a_queue_is_listed_by_its_phase(client, phase, is_listed, is_visited):
    store, registry = DynamoStore(client, QUEUE_TABLE), Registry(client, QUEUE_TABLE)
    store.create(KEY, QueueConfig(8))
    store.reconfigure(KEY, replace(QueueConfig(8), revision=1, **phase))
    minute = visit_minute(KEY)

    assert list(registry.queues()) == [KEY] * is_listed
    assert list(registry.sleeping(minute)) == [KEY] * is_visited
    assert list(registry.sleeping((minute + 1) % DAY_MINUTES)) == []


def remove(store):
    effects = Effects(each=lambda call, values: [call(value) for value in values])
    removing.begin(QueueContext(store, MemoryDoorbell(), KEY, effects=effects), force=False)


@pytest.mark.parametrize("change", [lambda store: raise_parts(store, Effects(), KEY, 16), remove])
def test_a_raise_and_a_removal_list_a_sleeping_queue_again(client, change):
    store, registry = DynamoStore(client, QUEUE_TABLE), Registry(client, QUEUE_TABLE)
    store.create(KEY, QueueConfig(8, idle_us=1, asleep_us=2))
    change(store)

    assert list(registry.queues()) == [KEY]
    assert list(registry.sleeping(visit_minute(KEY))) == []


def test_a_queue_that_was_removed_in_a_raise_is_created_with_fewer_parts_and_without_it(client):
    store, registry = DynamoStore(client, QUEUE_TABLE), Registry(client, QUEUE_TABLE)
    gone = {"removing_us": 2, "removed_us": 3, "paused": True, "metrics": True}
    raised = QueueConfig(16, 7, before=8, phase=Phase.DRAINING, since_us=1, cursor="0001#k", **gone)
    store.create(KEY, raised)
    store.count_change(KEY)
    stored = create_row(store, KEY, QueueConfig(4))

    assert stored == store.config(KEY) == QueueConfig(4, revision=8)
    assert list(registry.queues()) == [KEY]


def test_the_row_of_a_removed_queue_is_deleted_later(client):
    store = DynamoStore(client, QUEUE_TABLE)
    store.create(KEY, QueueConfig(8, removing_us=1, removed_us=1_772_366_400_000_000))
    row = client.get_item(TableName=QUEUE_TABLE, Key={"pk": {"S": f"C#{KEY}"}, "sk": {"S": "config"}})["Item"]

    assert int(row["ttl"]["N"]) == 1_772_366_400 + 86_400


def test_the_visits_of_many_queues_are_spread_over_the_day():
    minutes = [visit_minute(QueueKey("t", f"q{number}")) for number in range(10_000)]
    busiest = max(minutes.count(minute) for minute in set(minutes))

    assert set(minutes) <= set(range(DAY_MINUTES))
    assert (min(minutes), max(minutes)) == (0, 23 * 60 + 59)
    assert busiest < 30


THUMBS, GONE = QueueKey("t", "thumbs"), QueueKey("t", "gone")


DEPTH = Depth(1, 2, 3, 4, 5, Accuracy.AT_LEAST)


@pytest.mark.parametrize(("at_us", "kept"), [(19, 1), (20, 1), (21, 9)])
@mock_aws
def test_only_a_count_of_a_later_time_replaces_the_one_that_is_kept(at_us, kept):
    client = moto_clients.client("dynamodb")
    create_queue_table(client)
    DynamoStore(client, QUEUE_TABLE).create(THUMBS, QueueConfig(2))
    registry = Registry(client, QUEUE_TABLE)
    registry.record(THUMBS, CountedDepth(DEPTH, 20, 7))
    registry.record(THUMBS, CountedDepth(replace(DEPTH, ready=9), at_us, 7))

    assert registry.seen([THUMBS])[THUMBS][1] == CountedDepth(replace(DEPTH, ready=kept), max(at_us, 20), 7)
