"""Rows that 0.1 wrote under the ids of jobs: dead jobs and the outbox. They are read, revived and dropped."""

from __future__ import annotations

from dataclasses import replace

import boto3
import pytest
from moto import mock_aws

from fanin.queue import lifecycle
from fanin.queue.dynamodb import DynamoStore, items
from fanin.queue.model import Dead, OutboxEntry
from tests.contract.queue.calls import LATER, QUEUE, death_of, taken, taken_again
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table


@pytest.fixture
def store():
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        create_queue_table(client)
        yield DynamoStore(client, QUEUE_TABLE)


def rewrite_as_0_1(store, row, job_id, *unknown):
    """Put *row* under the job's id, without the attributes that 0.1 did not know."""
    store.client.delete_item(TableName=QUEUE_TABLE, Key={"pk": row["pk"], "sk": row["sk"]})
    old = {name: value for name, value in row.items() if name not in unknown} | {"sk": {"S": job_id}}
    store.client.put_item(TableName=QUEUE_TABLE, Item=old)


def test_a_dead_job_is_listed_and_comes_back_once(store):
    dead, mark = death_of(store, taken(store))
    rewrite_as_0_1(store, items.dead_item(QUEUE, dead), dead.job.id)
    (listed,) = store.dead(QUEUE, 10)

    assert listed == replace(dead, keyed_by_id=True)
    back = lifecycle.revived(listed, LATER, mark)

    assert store.revive(listed, back, mark) == back
    assert store.count_dead(QUEUE, 100) == 0
    assert store.revive(listed, replace(back, generation=9), mark) == back


def test_a_death_that_another_overwrote_brings_nothing_back(store):
    first, again = taken_again(store)
    second, mark = death_of(store, again, LATER + 1)
    rewrite_as_0_1(store, items.dead_item(QUEUE, second), second.job.id)
    seen_before = replace(first, keyed_by_id=True)

    assert store.revive(seen_before, lifecycle.revived(first, LATER, mark), mark) == mark
    (listed,) = store.dead(QUEUE, 10)

    assert store.revive(listed, lifecycle.revived(listed, LATER, mark), mark).deliveries == 2


def test_a_death_of_0_1_and_a_new_one_of_the_same_id_stand_side_by_side(store):
    old, _ = death_of(store, taken(store))
    rewrite_as_0_1(store, items.dead_item(QUEUE, old), old.job.id)
    other = taken(store, claim="c2", name="b")
    new = Dead(replace(other, id=old.job.id), "boom", LATER + 1)
    store.end(other, LATER, dead=new)

    assert store.dead(QUEUE, 10) == [replace(old, keyed_by_id=True), new]


@pytest.mark.parametrize("failed", [True, False])
def test_an_outbox_entry_is_read_and_deleted(store, failed):
    row = items.outbox_item(QUEUE, OutboxEntry("id", "item", failed, "boom", "c1#k#a"))
    rewrite_as_0_1(store, row, "id", "job_id", "reason")
    (listed,) = store.outbox(QUEUE)

    assert listed == OutboxEntry("id", "item", failed)
    store.delete_outbox_entry(QUEUE, listed)

    assert store.outbox(QUEUE) == []
