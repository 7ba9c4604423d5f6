"""Batches are reopened, reasons removed, and user data deleted, alike in every store."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.names import camel
from fanin.tracker import (
    Ack,
    BatchOptions,
    Group,
    Mode,
    OpenBatch,
    Outcome,
    Retention,
    Sample,
    State,
    Tracker,
)
from fanin.tracker.batch_changes.deleting import KEPT_OPTIONS, without_user_data
from fanin.tracker.dynamodb.packing import packed, unpacked
from fanin.tracker.rules.filters import Query
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import SHARDS, BatchKey, shard_of
from fanin.tracker.rules.options import ParentFailsOn, Threshold
from tests.contract.tracker.calls import ENDINGS, KEY, LATER, NOW

GROUP = Group("00000000-0000-8000-8000-000000000000", 7)
RANGES = ((0, 0), (5, 9), (11, 2**40))
OTHER = "00000000-0000-4000-8000-000000000002"
SAMPLE = Sample("item", "broken", NOW)
NUMBERS = {
    "failure_sample": 9,
    "min_succeeded": 5,
    "min_succeeded_percent": 60,
    "max_items": 7,
    "max_cost": 0.25,
}
ALL_OPTIONS = {
    "user_key": "käy",
    "mode": Mode.EXACT,
    "expected_items": 3,
    "max_failures": 4,
    "max_failure_percent": 50,
    **NUMBERS,
    "parent_item_id": f"{OTHER}:{GROUP.id}:0",
    "parent_fails_on": ParentFailsOn.ANY,
    "labels": {"a": "b"},
    "callback": "orders",
    "notify_at": (Threshold.HALF,),
    "stuck_after": timedelta(minutes=5),
    "retention": Retention(),
    "results": True,
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}
KEPT_ATTRIBUTES = {
    *("pk", "sk", "tenant", "batchId", "state", "total", "failed", "healed", "pageBits", "salt", "mode"),
    *("retainOpen", "retainClosed", "retainComplete", "createdAt", "createdKey", "closedAt", "endedAt"),
    *("completedAt", "deadlineAt", "expiresAt", "deletedAt", "ttl", "fingerprint", "eventId"),
    *(
        "resumes",
        "ackedAt",
        "expectedItems",
        "maxFailures",
        "results",
        "reached",
        "parentFailsOn",
        *map(camel, NUMBERS),
    ),
    *("dueAt", "dueShard"),
}
"""What the row of a deleted batch has: no text of a user, no name of a caller, no key of a user's list.

The last two are those of the check at which its results are removed.
"""


@pytest.fixture
def reopened(batch):
    return replace(batch, state=State.CLOSED, total=7, closed_at=NOW, origin_batch_id=OTHER)


@pytest.mark.parametrize("ranges", [None, RANGES], ids=["failed", "unfinished"])
@pytest.mark.parametrize("key", [None, "k"], ids=["without a key", "with a key"])
def test_a_reopened_batch_is_stored_with_its_items(store, reopened, ranges, key):
    assert store.create_reopened(reopened, GROUP, ranges, key, None) == KEY.batch_id
    assert store.get(KEY) == reopened
    assert store.groups(KEY, 0, 6, 10) == [(0, GROUP)]
    assert store.origin_ranges(KEY) == ranges
    assert store.named(KEY.tenant, "k") == (key and KEY.batch_id)


def test_a_key_stands_for_one_reopened_batch(store, reopened):
    store.create_reopened(reopened, GROUP, RANGES, "k", None)
    second = replace(reopened, batch_id=OTHER)

    assert store.create_reopened(second, GROUP, RANGES, "k", None) == KEY.batch_id
    assert store.get(second.key) is None
    assert store.origin_ranges(second.key) is None
    assert store.groups(second.key, 0, 6, 10) == []
    assert store.create_reopened(second, GROUP, None, "k", KEY.batch_id) == OTHER
    assert store.get(second.key) == second


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**36)), max_size=20))
def test_packed_ranges_are_read_as_they_were_stored(gaps):
    ranges, end = [], 0
    for gap, more in gaps:
        ranges.append((end + gap, end + gap + more))
        end = ranges[-1][1] + 2

    assert unpacked(packed(ranges)) == tuple(ranges)


def test_the_slot_of_a_removed_reason_is_free(store, batch):
    store.create(batch)
    store.sample(KEY, 3, SAMPLE, LATER)
    other = replace(SAMPLE, item_id="other")

    assert not any(store.free_sample(KEY, 3, name) for name in ("other", "an item"))
    assert not store.free_sample(KEY, 4, "item")
    assert store.samples(KEY) == [SAMPLE]
    assert store.free_sample(KEY, 3, "item")
    assert not store.free_sample(KEY, 3, "item")
    assert store.samples(KEY) == []
    assert store.sample(KEY, 3, other, LATER) == other
    assert store.samples(KEY) == [other]


def test_a_blocked_slot_keeps_no_reason(store, batch):
    store.create(batch)
    store.sample(KEY, 3, SAMPLE, LATER)
    for _ in range(2):
        store.block_samples(KEY, (3, 4), LATER)

    assert store.samples(KEY) == []
    assert store.sample(KEY, 3, SAMPLE, LATER) is None
    assert store.sample(KEY, 4, SAMPLE, LATER) is None
    assert store.samples(KEY) == []


def end(store, batch, change):
    """The batch after its end, with nothing left to check."""
    store.create(batch)
    ended = store.transition(KEY, change)
    store.postpone(ended, None)
    return store.get(KEY)


FORCED = Transition(State.FAILED, NOW, LATER, LATER, reason="stuck", by="a person")


@pytest.mark.parametrize("change", [*ENDINGS, FORCED], ids=lambda change: str(change.to))
def test_a_deleted_batch_has_no_user_data(store, batch, change):
    source = State.CLOSED if change.to is State.COMPLETE else State.OPEN
    full = replace(batch, **ALL_OPTIONS, state=source, deadline_at=NOW, expires_at=NOW, origin_batch_id=OTHER)
    ended = end(store, full, change)
    assert ended.state is change.to
    deleted = store.delete(ended, LATER)

    assert deleted == store.get(KEY) == without_user_data(ended, LATER)
    assert deleted.expires_at == batch.created_at
    assert store.delete(ended, LATER + timedelta(days=1)).state is change.to


def test_every_option_that_may_hold_text_of_a_user_is_deleted(batch):
    assert {option.name for option in fields(BatchOptions)} == ALL_OPTIONS.keys()
    deleted = without_user_data(replace(batch, **ALL_OPTIONS), NOW)

    usual = BatchOptions()
    numbers = {"expected_items", "max_failures", *NUMBERS}
    assert {*KEPT_OPTIONS} == {"mode", "retention", "parent_fails_on", "results", *numbers}
    assert all(
        getattr(deleted, name) == getattr(usual, name) for name in ALL_OPTIONS if name not in KEPT_OPTIONS
    )


def test_the_row_of_a_deleted_batch_has_no_other_attributes(store, batch):
    if not hasattr(store, "client"):
        pytest.skip("a store without rows")
    full = replace(batch, **ALL_OPTIONS, origin_batch_id=OTHER, deadline_at=NOW)
    ended = end(store, full, FORCED)
    store.delete(ended, LATER)
    key = {"pk": {"S": str(KEY)}, "sk": {"S": "batch"}}
    row = store.client.get_item(TableName=store.tables.batches, Key=key)["Item"]

    assert row.keys() <= KEPT_ATTRIBUTES
    assert not any(text in str(row) for text in ("käy", "stuck", "a person", OTHER, "'f'"))


def test_a_deleted_batch_is_in_no_list(store, batch):
    deleted = store.delete(end(store, batch, ENDINGS[0]), LATER)
    queries = [
        Query(tenant=KEY.tenant, shard=shard_of(KEY.batch_id), limit=10),
        Query(tenant=KEY.tenant, shard=0, limit=10, user_key=batch.user_key),
    ]

    assert deleted.deleted_at == LATER
    assert [store.listing(query).batches for query in queries] == [(), ()]
    assert list(store.due(shard_of(KEY.batch_id), False, LATER)) == []


def test_a_batch_is_deleted_only_when_it_has_ended_and_no_check_of_it_is_due(store, batch):
    store.create(batch)
    assert store.delete(batch, LATER) == batch
    ended = store.transition(KEY, ENDINGS[0])
    assert ended.next_check_at is not None

    assert store.delete(ended, LATER) == store.get(KEY) == ended
    assert store.delete(replace(ended, batch_id=OTHER), LATER) is None
    assert store.get(BatchKey(KEY.tenant, OTHER)) is None


def test_a_deletion_of_ended_batches_sends_ten_requests_for_each_whatever_failed(store, batch):
    """Each of its 128 slots of reasons is blocked."""
    if not hasattr(store, "client"):
        pytest.skip("nothing is sent")
    tracker, sent = Tracker(store, now=lambda: NOW, pause=lambda _: None), []
    for _ in range(3):
        opened = tracker.open("t", OpenBatch()).batch_id
        (group,) = tracker.add("t", opened, 1).groups
        tracker.ack("t", [Ack(opened, group.id, 0, 0, "me", Outcome.FAILURE, "no")])
        tracker.confirm(tracker.cancel("t", opened))
    store.client.meta.events.register("before-call.dynamodb", lambda model, **_: sent.append(model.name))

    assert tracker.delete_ended("t", NOW + timedelta(days=1)).count == 3
    assert len(sent) <= SHARDS + 3 * 10


def test_a_batch_with_results_is_deleted_before_they_are_removed_and_checked_once_more(store, batch):
    store.create(replace(batch, results=True))
    ended = store.transition(KEY, ENDINGS[0])
    store.postpone(ended, ended.results_until)
    deleted = store.delete(store.get(KEY), LATER)
    again = store.delete(deleted, LATER + timedelta(hours=1))

    assert (deleted.deleted_at, again.deleted_at) == (LATER, LATER + timedelta(hours=1))
    assert list(store.due(shard_of(KEY.batch_id), False, again.results_until)) == [KEY]
    store.postpone(again, again.expires_at + timedelta(hours=9))
    assert store.delete(store.get(KEY), NOW) == store.get(KEY)
    assert store.get(KEY).deleted_at == again.deleted_at
