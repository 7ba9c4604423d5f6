"""The client reopens, ends and deletes batches, alike over each transport."""

from __future__ import annotations

from datetime import UTC, datetime

from fanin import Deleted
from fanin.tracker.rules.model import BatchKey
from tests.client.conftest import TENANT

LATER = datetime(2999, 1, 1, tzinfo=UTC)


def ended(fanin, count=20, failed=(3, 4, 9, 17), **options):
    """A cancelled batch with failed items, and its items."""
    batch = fanin.open(**options)
    items = batch.add(count)
    fanin.fail([items[index] for index in failed], "of a user")
    batch.cancel("of a person")
    return batch, items


def confirm(tracker, batch):
    tracker.confirm(tracker.store.get(BatchKey(TENANT, batch.id)))


def test_all_that_ended_before_a_time_are_deleted(fanin, tracker, monkeypatch):
    monkeypatch.setattr("fanin.tracker.writing.repairing.DELETED_A_REQUEST", 2)
    batches = [ended(fanin, 2, (1,))[0] for _ in range(5)]
    for batch in batches[:4]:
        confirm(tracker, batch)

    done = fanin.delete_ended(LATER)
    assert (done.deleted, done.unconfirmed) == (4, 1)
    assert [batch.batch_id for batch in fanin.batches()] == [batches[4].id]
    assert fanin.delete_ended(datetime(2020, 1, 1, tzinfo=UTC)) == Deleted(0, 0)
