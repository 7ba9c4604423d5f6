"""Stages of one work: what one has done are the items of the next, and the whole has one end."""

from __future__ import annotations

import pytest

from fanin import InvalidRequest, Stages
from fanin.testing import FakeFanin


@pytest.fixture
def fake():
    return FakeFanin()


@pytest.fixture
def work(fake):
    """A work of three stages, the first of which has three items."""
    stages = Stages.open(fake, 3, "night", key="night-1")
    with stages.stage(0, "resize") as first:
        first.items = first.add(3, key="all")
    stages.first = first
    return stages


def ending(fake, batch):
    """The ending event of a batch."""
    return next(event for event in fake.events if event["batchId"] == batch.id)


def run(fake, detail, count):
    """Open the next stage for *count* items, do them, and return the batch."""
    with Stages.next(fake, detail) as batch:
        items = batch.add(count, key="all")
    fake.ack(items)
    return batch


def test_each_stage_is_opened_once_by_the_end_of_the_one_before_and_the_last_ends_the_whole(fake, work):
    fake.fail(work.first.items[:1])
    fake.ack(work.first.items[1:])
    detail = ending(fake, work.first)
    opened = [Stages.next(fake, detail).id for _ in range(3)]
    second = run(fake, detail, detail["total"] - detail["failed"])
    assert opened == [second.id] * 3
    assert fake.status(work.id).acked == 1 + 1
    third = run(fake, ending(fake, second), 5)

    assert (fake.status(third.id).result, fake.status(work.id).result) == ("succeeded", "succeeded")
    assert Stages.next(fake, ending(fake, third)) is None


def test_an_event_that_comes_again_when_the_next_stage_has_ended_opens_none(fake, work):
    fake.ack(work.first.items)
    second = run(fake, ending(fake, work.first), 3)
    before = len(fake.store.batches)

    assert Stages.next(fake, ending(fake, work.first)) is None
    assert (fake.status(second.id).total, len(fake.store.batches)) == (3, before)


def test_a_stage_that_was_cancelled_is_not_opened_again_and_fails_the_later_ones(fake, work):
    fake.ack(work.first.items)
    second = Stages.next(fake, ending(fake, work.first))
    second.cancel("not tonight")
    before = len(fake.store.batches)

    assert Stages.next(fake, ending(fake, work.first)) is None
    assert Stages.next(fake, ending(fake, second)) is None
    whole = fake.status(work.id)
    assert (whole.result, whole.failed, len(fake.store.batches)) == ("completed_with_failures", 2, before)
    assert {sample.reason for sample in fake.samples(work.id)} == {
        f"batch {second.id} cancelled",
        f"the stage before, batch {second.id}, is cancelled",
    }


def test_a_stage_can_be_filled_while_the_one_before_is_at_work(fake, work):
    for item in work.first.items:
        streamed = work.stage(1)
        streamed.add(1, key=item)
        streamed.add(1, key=item)  # the message of an item may come again
    fake.ack(work.first.items)
    second = Stages.next(fake, ending(fake, work.first))
    second.close()

    assert (second.id, fake.status(second.id).total) == (streamed.id, 3)


def test_a_cancel_of_the_whole_with_its_stages_ends_all(fake, work):
    fake.cancel(work.id, children=True)

    assert fake.status(work.first.id).state == "CANCELLED"
    assert Stages.next(fake, ending(fake, work.first)) is None


def test_the_whole_is_opened_once_under_its_key(fake, work):
    assert Stages.open(fake, 3, "night", key="night-1").items == work.items


@pytest.mark.parametrize("count", [1, 101, True, "3"])
def test_a_work_has_two_to_a_hundred_stages(fake, count):
    with pytest.raises(InvalidRequest, match="2 to 100 stages"):
        Stages.open(fake, count, key="k")


def test_a_batch_without_a_parent_is_no_stage(fake):
    with fake.open() as batch:
        pass
    with pytest.raises(InvalidRequest, match="is the stage of no batch"):
        Stages.next(fake, ending(fake, batch))
