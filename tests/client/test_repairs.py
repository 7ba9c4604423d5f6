"""The client reopens, ends and deletes batches, alike over each transport."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fanin import Conflict, Deleted, NotFound, State
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


def test_failed_items_are_reopened_in_pairs(fanin):
    batch, items = ended(fanin, user_key="k")
    reopened = batch.reopen()

    assert list(reopened.pairs()) == list(fanin.pairs(reopened.id))
    assert list(reopened.pairs()) == list(
        zip([items[index] for index in (3, 4, 9, 17)], reopened.items, strict=True)
    )
    status = reopened.status()
    assert (status.state, status.total, status.user_key) == (State.CLOSED, 4, "k")
    assert status.origin_batch_id == reopened.origin_batch_id == batch.id
    fanin.ack(reopened.items)
    assert reopened.status().result == "succeeded"


def test_the_options_of_a_reopen_are_sent(fanin):
    batch, _ = ended(fanin, count=6, failed=(1,))
    given = {"deadline": timedelta(hours=1), "max_failures": 2, "labels": {"a": "b"}, "user_key": "u"}
    reopened = fanin.reopen(batch.id, items="unfinished", key="k", **given)
    status = reopened.status()

    assert fanin.reopen(batch.id, items="unfinished", key="k", **given).id == reopened.id
    assert (status.total, status.max_failures, status.labels, status.user_key) == (6, 2, {"a": "b"}, "u")
    assert status.deadline_at - status.created_at == timedelta(hours=1)
    assert len(list(reopened.pairs())) == 6


def test_an_ended_batch_is_deleted(fanin, tracker):
    batch, _ = ended(fanin)
    with pytest.raises(Conflict, match="not confirmed"):
        batch.delete()
    confirm(tracker, batch)
    batch.delete()
    fanin.delete(batch.id)

    with pytest.raises(NotFound):
        batch.status()
    with pytest.raises(Conflict, match="cancel it first"):
        fanin.open().delete()


def test_all_that_ended_before_a_time_are_deleted(fanin, tracker, monkeypatch):
    monkeypatch.setattr("fanin.tracker.writing.repairing.DELETED_A_REQUEST", 2)
    batches = [ended(fanin, 2, (1,))[0] for _ in range(5)]
    for batch in batches[:4]:
        confirm(tracker, batch)

    done = fanin.delete_ended(LATER)
    assert (done.deleted, done.unconfirmed) == (4, 1)
    assert [batch.batch_id for batch in fanin.batches()] == [batches[4].id]
    assert fanin.delete_ended(datetime(2020, 1, 1, tzinfo=UTC)) == Deleted(0, 0)
