"""Rows that 0.1 wrote, under the ids of jobs, or with the queue as a whole: they are read and deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue import lifecycle
from fanin.queue.dynamodb import DynamoStore, items
from fanin.queue.model import Dead, OutboxEntry
from tests.contract import engines
from tests.contract.queue.calls import LATER, PART, QUEUE, death_of, taken, taken_again
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table

DEAD_ROW = {
    "pk": {"S": "D#tenant#orders"},
    "sk": {"S": "c1#k#a"},
    "ix": {"S": "4#1772366405123456"},
    "ro": {"S": "0#999#1772366400123456"},
    "st": {"S": "busy"},
    "name": {"S": "a"},
    "job_id": {"S": "id"},
    "session": {"S": "s1"},
    "claim": {"S": "c1"},
    "part": {"N": "0"},
    "job_sk": {"S": "k#a"},
    "error": {"S": "boom"},
    "died_us": {"N": "1772366405123456"},
    **{name: {"N": "0"} for name in ("priority", "collisions", "queued_us", "busy_us", "failures")},
    **{name: {"N": "1"} for name in ("generation", "deliveries")},
    **{name: {"N": "1772366400123456"} for name in ("added_us", "ready_us", "claimed_us")},
}
OUTBOX_ROW = {
    "pk": {"S": "T#tenant#orders"},
    "sk": {"S": "c1#k#a"},
    "job_id": {"S": "id"},
    "item_id": {"S": "item"},
    "failed": {"BOOL": True},
    "reason": {"S": "boom"},
}


@pytest.fixture
def store():
    with engines.emptied():
        yield DynamoStore(engines.client(create_queue_table), QUEUE_TABLE)


def rewrite_as_0_1(store, row, job_id, *unknown):
    """Put *row* with the queue under the job's id, without the attributes that 0.1 did not know."""
    store.client.delete_item(TableName=QUEUE_TABLE, Key={"pk": row["pk"], "sk": row["sk"]})
    pk = {"S": row["pk"]["S"].removesuffix("#+0000")}
    old = {name: value for name, value in row.items() if name not in unknown}
    store.client.put_item(TableName=QUEUE_TABLE, Item=old | {"pk": pk, "sk": {"S": job_id}})


def test_a_dead_job_under_its_id_is_listed_and_comes_back_once(store):
    dead, mark = death_of(store, taken(store))
    rewrite_as_0_1(store, items.dead_item(dead), dead.job.id)
    (listed,) = store.dead(QUEUE, 10)

    assert listed == replace(dead, keyed_by_id=True, spread=False)
    back = lifecycle.revived(listed, LATER, mark)

    assert store.revive(listed, back, mark) == back
    assert store.count_dead(QUEUE, 100) == 0
    assert store.revive(listed, replace(back, generation=9), mark) == back


def test_a_dead_job_with_its_queue_is_listed_counted_and_comes_back_once(store):
    store.client.put_item(TableName=QUEUE_TABLE, Item=DEAD_ROW)
    (listed,) = store.dead(QUEUE, 10)

    assert (store.count_dead(QUEUE, 10), store.dead(PART, 10)) == (1, [])
    assert (listed.job.name, listed.error, listed.record) == ("a", "boom", "c1#k#a")
    back = lifecycle.revived(listed, LATER, None)

    assert store.revive(listed, back, None) == back
    assert store.dead(QUEUE, 10) == []
    assert store.revive(listed, replace(back, generation=9), back) == back


def test_a_death_that_another_overwrote_brings_nothing_back(store):
    first, again = taken_again(store)
    second, mark = death_of(store, again, LATER + 1)
    rewrite_as_0_1(store, items.dead_item(second), second.job.id)
    seen_before = replace(first, keyed_by_id=True, spread=False)

    assert store.revive(seen_before, lifecycle.revived(first, LATER, mark), mark) == mark
    (listed,) = store.dead(QUEUE, 10)

    assert store.revive(listed, lifecycle.revived(listed, LATER, mark), mark).deliveries == 2


@pytest.mark.parametrize("claim", ["c1", "c8", "z"])
def test_a_late_removal_of_a_death_that_another_overwrote_leaves_the_later_one(store, claim):
    _, again = taken_again(store)
    second, _ = death_of(store, again, LATER + 1)
    rewrite_as_0_1(store, items.dead_item(second), second.job.id)
    (listed,) = store.dead(QUEUE, 10)

    assert not store.remove_dead(replace(listed, job=replace(listed.job, claim=claim)))
    assert store.dead(QUEUE, 10) == [listed]
    assert store.remove_dead(listed)
    assert store.dead(QUEUE, 10) == []


def test_deaths_of_each_form_stand_side_by_side(store):
    old, _ = death_of(store, taken(store))
    rewrite_as_0_1(store, items.dead_item(old), old.job.id)
    store.client.put_item(
        TableName=QUEUE_TABLE, Item=DEAD_ROW | {"sk": {"S": "c0#k#a"}, "claim": {"S": "c0"}}
    )
    other = taken(store, claim="c2", name="b")
    new = Dead(replace(other, id=old.job.id), "boom", LATER + 1)
    store.end(other, LATER, dead=new)

    assert sorted(dead.record for dead in store.dead(QUEUE, 10)) == ["c0#k#a", old.job.id]
    assert store.dead(PART, 10) == [new]


@pytest.mark.parametrize("failed", [True, False])
def test_an_outbox_entry_under_the_id_of_its_job_is_read_and_deleted(store, failed):
    row = items.outbox_item(QUEUE, OutboxEntry("id", "item", failed, "boom", "c1#k#a"))
    rewrite_as_0_1(store, row, "id", "job_id", "reason")
    (listed,) = store.outbox(QUEUE)

    assert listed == OutboxEntry("id", "item", failed)
    store.delete_outbox_entry(QUEUE, listed)

    assert store.outbox(QUEUE) == []


def test_an_outbox_entry_with_its_queue_is_read_and_deleted(store):
    store.client.put_item(TableName=QUEUE_TABLE, Item=OUTBOX_ROW)
    (listed,) = store.outbox(QUEUE)

    assert (listed, store.outbox(PART)) == (OutboxEntry("id", "item", True, "boom", "c1#k#a"), [])
    store.delete_outbox_entry(QUEUE, listed)

    assert store.outbox(QUEUE) == []
