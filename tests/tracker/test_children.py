"""An item waits for all of its children, in whatever order they end, and takes none when they have ended."""

from __future__ import annotations

from itertools import permutations

import pytest

from fanin.errors import Conflict
from fanin.tracker import OpenBatch, State
from fanin.tracker.writing.reopening import ReopenBatch
from tests.tracker.calls import HOUR, ack, fail, opened


@pytest.fixture
def parent(tracker):
    """A closed batch of one item, and the item's id."""
    batch_id, group = opened(tracker, 1)
    tracker.close("t", batch_id, "closer")
    return batch_id, f"{batch_id}:{group}:0"


def child(tracker, item, key=None, **options):
    """Open a child of an item that has one item itself, and close it; return its id and its group."""
    batch = tracker.open("t", OpenBatch(parent_item_id=item, **options), key)
    group = tracker.add("t", batch.batch_id, 1, key).groups[0].id
    tracker.close("t", batch.batch_id, "closer")
    return batch.batch_id, group


def result(tracker, batch_id):
    return tracker.get("t", batch_id).result


ENDS = {
    "succeeds": lambda tracker, child, group: ack(tracker, child, group, 0),
    "fails": lambda tracker, child, group: fail(tracker, child, group, 0),
    "is cancelled": lambda tracker, child, group: tracker.cancel("t", child, group),
}


@pytest.mark.parametrize("order", list(permutations(ENDS)), ids=", ".join)
def test_one_failed_child_fails_the_item_in_whatever_order_they_end(tracker, parent, order):
    children = [child(tracker, parent[1]) for _ in order]
    for each, end in zip(children, order, strict=True):
        assert tracker.get("t", parent[0]).state is State.CLOSED
        ENDS[end](tracker, *each)

    assert result(tracker, parent[0]) == "completed_with_failures"
    (sample,) = tracker.samples(tracker.get("t", parent[0]))
    ended = {f"batch {each[0]} {result(tracker, each[0])}" for each in children}
    assert sample.reason in {reason for reason in ended if not reason.endswith("succeeded")}


def opens_none(tracker, item, sentence):
    with pytest.raises(Conflict, match=sentence):
        tracker.open("t", OpenBatch(parent_item_id=item))


@pytest.mark.parametrize("end", [State.CANCELLED, State.COMPLETE, State.FAILED, State.TIMED_OUT])
def test_an_item_of_an_ended_batch_takes_no_child(tracker, clock, end):
    batch_id, group = opened(tracker, 1, deadline=HOUR)
    if end is State.CANCELLED:
        tracker.cancel("t", batch_id)
    elif end is State.FAILED:
        tracker.end("t", batch_id, "enough", "me")
    elif end is State.TIMED_OUT:
        clock.at += HOUR
    else:
        ack(tracker, batch_id, group, 0)
        tracker.close("t", batch_id, "closer")

    opens_none(tracker, f"{batch_id}:{group}:0", f"batch {batch_id} is {end}, so its items take no child")


def test_a_child_is_reopened_without_its_parent_when_that_has_ended_or_the_item_is_done(tracker, parent):
    only = child(tracker, parent[1])
    fail(tracker, *only, 0)
    assert result(tracker, parent[0]) == "completed_with_failures"

    assert tracker.reopen("t", ReopenBatch(origin_batch_id=only[0]), "me").parent_item_id is None


def test_an_item_that_is_done_takes_no_child_and_a_failed_one_does(tracker):
    batch_id, group = opened(tracker, 3)
    ack(tracker, batch_id, group, 1)
    fail(tracker, batch_id, group, 2)

    opens_none(tracker, f"{batch_id}:{group}:1", "is done and takes no child")
    assert tracker.open("t", OpenBatch(parent_item_id=f"{batch_id}:{group}:2"))
