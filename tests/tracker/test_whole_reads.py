"""What a refused write reads again, and the bounds of lists, deletions and folded acks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from botocore.exceptions import ClientError

from fanin.aws.settings.tracking import Tables
from fanin.tracker import State, Tracker
from fanin.tracker.dynamodb import DynamoStore, items
from fanin.tracker.memory import MemoryStore
from fanin.tracker.writing.deleting import ended_before
from tests.scripted import Scripted
from tests.tracker.calls import DAY, START, ack, fail, opened
from tests.tracker.stored import BATCH, TICK


class Refusing:
    """A client whose puts are refused without the row that is there; *row* is found by its key."""

    def __init__(self, row):
        self.row, self.keys = row, []

    def put_item(self, **_):
        raise ClientError({"Error": {"Code": "ConditionalCheckFailedException"}}, "PutItem")

    def get_item(self, **request):
        self.keys.append(request["Key"])
        return {"Item": self.row} if self.row else {}


@pytest.mark.parametrize("stored", ["theirs", None])
def test_an_idempotency_key_that_is_taken_is_read_by_its_whole_key(stored):
    row = items.key_item("t", "route", "key", "theirs", START + DAY)
    client = Refusing(row if stored else None)
    store = DynamoStore(client, Tables("batches", "pages"))

    assert store.remember("t", "route", "key", "mine", START, START + DAY) == (stored or "mine")
    assert client.keys == [{"pk": row["pk"], "sk": row["sk"]}]


@pytest.mark.parametrize(
    ("facts", "before"),
    [
        ({"ended_at": START - TICK}, True),
        ({"ended_at": START}, False),
        ({}, False),
        ({"ended_at": START - TICK, "deleted_at": START}, False),
    ],
)
def test_a_batch_ended_before_a_time_if_its_end_is_earlier(facts, before):
    batch = replace(BATCH, **{"state": State.COMPLETE} | facts)

    assert ended_before(batch, START) is before


@pytest.fixture
def tracker():
    return Tracker(Scripted(MemoryStore()), page_bits=4, now=lambda: START, pause=lambda _: None)


def test_a_list_of_items_has_a_thousand_ranges():
    tracker = Tracker(MemoryStore(), page_bits=1024, now=lambda: START, pause=lambda _: None)
    batch_id, group = opened(tracker, 2004)
    batch = tracker.get("t", batch_id)
    fail(tracker, batch_id, group, *range(0, 1000, 2))
    ack(tracker, batch_id, group, *range(1000, 2004, 2))
    first = tracker.outstanding(batch)
    fail(tracker, batch_id, group, *range(1001, 1501, 2))
    fail(tracker, batch_id, group, *range(1501, 2003, 2))

    assert (len(first.ranges), len(tracker.outstanding(batch, first.resume).ranges)) == (1000, 1)
    assert len(tracker.failures(tracker.get("t", batch_id)).ranges) == 1000
