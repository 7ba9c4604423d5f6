"""Which items take a child: none that is done, and none of a batch that has ended."""

from __future__ import annotations

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


def child(tracker, item):
    """Open a child of an item that has one item itself, and close it; return its id and its group."""
    batch_id, group = opened(tracker, 1, parent_item_id=item)
    tracker.close("t", batch_id, "closer")
    return batch_id, group


def result(tracker, batch_id):
    return tracker.get("t", batch_id).result


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
