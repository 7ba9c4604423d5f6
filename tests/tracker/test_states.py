"""Which reads may be old, and for how long a tracker keeps a state that it has read or written."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.settings.tracking import Tables
from fanin.tracker import OpenBatch, Retention, State, Tracker, TrackerStore
from fanin.tracker.dynamodb.store import DynamoStore
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.reading import Reader
from fanin.tracker.rules.filters import Query
from fanin.tracker.rules.lifecycle import transition
from fanin.tracker.rules.model import BatchKey, ItemKey, PageKey
from tests.simulation.replica import EVENTUAL
from tests.tracker.calls import DAY, HOUR, START, ack, opened
from tests.tracker.stored import TICK

KEY = BatchKey("t", "00000000-0000-4000-8000-000000000001")
READS = {
    "get": lambda s: s.get(KEY),
    "named": lambda s: s.named("t", "key"),
    "children": lambda s: s.children(ItemKey(KEY, 0)),
    "children_from": lambda s: s.children_from(KEY, 0, 10),
    "receipt": lambda s: s.receipt(KEY, "key"),
    "groups": lambda s: s.groups(KEY, 0, 9, 10),
    "origin_ranges": lambda s: s.origin_ranges(KEY),
    "task_token": lambda s: s.task_token(KEY),
    "is_confirmed": lambda s: s.is_confirmed(KEY),
    "is_put": lambda s: s.is_put(KEY),
    "pages": lambda s: s.pages([PageKey(KEY, 0, 0)]),
    "glance": lambda s: s.glance([PageKey(KEY, 0, 0)], bits=False),
    "samples": lambda s: s.samples(KEY),
    "due": lambda s: list(s.due(0, alive=True, at=START)),
    "live": lambda s: list(s.live(0)),
    "listing": lambda s: s.listing(Query(tenant="t", shard=0, limit=10)),
}
"""Each call of the port that only reads."""


class Empty:
    """A client of tables without a row; it takes down which reads are consistent."""

    def __init__(self):
        self.consistent = []

    def get_item(self, **request):
        self.consistent.append(request.get("ConsistentRead", False))
        return {}

    def query(self, **request):
        self.consistent.append(request.get("ConsistentRead", False))
        return {"Items": []}

    def batch_get_item(self, **request):
        self.consistent += [of.get("ConsistentRead", False) for of in request["RequestItems"].values()]
        return {"Responses": {}}


@pytest.mark.parametrize("name", READS)
def test_a_read_is_consistent_unless_the_port_says_that_it_decides_nothing(name):
    client = Empty()
    READS[name](DynamoStore(client, Tables("batches", "pages")))

    assert client.consistent
    assert set(client.consistent) == {name not in EVENTUAL}


def test_every_other_call_of_the_port_is_a_write():
    calls = {name for name, member in vars(TrackerStore).items() if callable(member) and name[0] != "_"}
    writes = {
        *("create", "create_under", "create_reopened", "reserve", "transition", "extend", "postpone"),
        *(
            "notice",
            "report",
            "record_ack_time",
            "confirm",
            "mark_put",
            "create_pages",
            "add_bits",
            "replace_bits",
            "replace_pages",
            "heal_bits",
        ),
        *("add_count", "mark_tail", "compact", "sample", "free_sample", "block_samples", "delete"),
        *("remember", "drop_token", "prepare", "end_child", "cancel_children"),
    }

    assert calls - writes == set(READS)
    assert not writes & READS.keys()
    assert READS.keys() >= EVENTUAL


def test_a_clock_that_is_set_back_does_not_prolong_what_a_process_knows(clock):
    """Otherwise acks would be accepted by a cancelled batch until the clock has caught up."""
    store = MemoryStore()
    tracker = Tracker(store, fresh_for=timedelta(seconds=5), now=clock)
    batch = tracker.open("t", OpenBatch())
    assert tracker.state_of("t", batch.batch_id) is State.OPEN
    store.transition(batch.key, transition(batch, State.CANCELLED, START))
    clock.at -= HOUR

    assert tracker.state_of("t", batch.batch_id) is State.CANCELLED


FRESH = timedelta(seconds=5)


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def other(store, clock):
    """Another process, which keeps no state."""
    return Tracker(store, page_bits=4, fresh_for=timedelta(0), now=clock, pause=lambda _: None)


@pytest.fixture
def lasting(other):
    """A process that keeps the state of a live batch for ten days."""
    return replace(other, fresh_for=10 * DAY, _known={})


@pytest.mark.parametrize("kind", [Reader, Tracker])
def test_a_state_is_kept_for_five_seconds_unless_another_time_is_set(store, clock, other, kind):
    tracker = kind(store, now=clock)
    batch_id, _ = opened(other)
    assert tracker.state_of("t", batch_id) is State.OPEN
    other.cancel("t", batch_id)

    clock.at += FRESH - TICK
    assert tracker.state_of("t", batch_id) is State.OPEN
    clock.at += TICK
    assert tracker.state_of("t", batch_id) is State.CANCELLED


@pytest.mark.parametrize(
    ("options", "later"),
    [({"retention": Retention(open=DAY)}, DAY / 8), ({"stuck_after": DAY}, DAY / 8)],
    ids=["the expiry of an active batch", "the time of an ack"],
)
def test_an_end_by_another_process_is_known_after_the_write_of(clock, other, lasting, options, later):
    """The row that the write returns replaces the older state."""
    batch_id, group = opened(other, 2, **options)
    assert lasting.state_of("t", batch_id) is State.OPEN
    other.cancel("t", batch_id)
    clock.at += later
    ack(lasting, batch_id, group, 0)

    assert lasting.state_of("t", batch_id) is State.CANCELLED


class Endless:
    """A client of a table of children that goes on after each row."""

    def __init__(self):
        self.limits = []

    def query(self, **request):
        self.limits.append(request["Limit"])
        row = {"sk": {"S": f"children#{len(self.limits):013d}"}, "live": {"SS": ["a"]}}
        return {"Items": [row], "LastEvaluatedKey": {"pk": {"S": "next"}}}


def test_a_read_of_some_rows_ends_with_the_last_of_them():
    client = Endless()
    found = DynamoStore(client, Tables("batches", "pages")).children_from(KEY, 0, 3)

    assert (len(found), len(client.limits)) == (3, 3)
