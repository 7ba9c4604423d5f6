"""Batches within batches: a child's end is an item of its parent."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest
from fanin.tracker import Mode, OpenBatch, State
from fanin.tracker.rules.lifecycle import ACK_PARENT_AFTER
from tests.tracker.calls import HOUR, ack, opened


def test_a_parent_that_is_no_item_of_the_tenants_is_refused(tracker):
    parent, group = opened(tracker, 3)

    for item in (f"{parent}:{group}:3", f"{parent}:{parent}:0", "nonsense"):
        with pytest.raises(InvalidRequest):
            tracker.open("t", OpenBatch(parent_item_id=item))
    with pytest.raises(InvalidRequest):
        tracker.open("other", OpenBatch(parent_item_id=f"{parent}:{group}:0"))


def test_an_estimated_batch_is_no_parent(tracker):
    """The end of a child may ack its item of the parent more than once, and each ack would count."""
    parent, group = opened(tracker, 3, mode=Mode.ESTIMATED)

    with pytest.raises(InvalidRequest, match="estimated"):
        tracker.open("t", OpenBatch(parent_item_id=f"{parent}:{group}:0"))


def test_a_deep_chain_ends_level_by_level_without_a_deep_stack(tracker, clock):
    chain = [opened(tracker, 1)]
    for _ in range(299):
        batch_id, group = chain[-1]
        chain.append(opened(tracker, 1, parent_item_id=f"{batch_id}:{group}:0"))
    for batch_id, _ in chain:
        tracker.close("t", batch_id, "closer")
    ack(tracker, *chain[-1], 0)
    for _ in range(30):
        clock.at += ACK_PARENT_AFTER
        tracker.sweep()

    assert {tracker.get("t", batch_id).result for batch_id, _ in chain} == {"succeeded"}


def test_a_child_that_a_reader_ends_is_due_soon_for_its_parents_sake(tracker, clock):
    parent, group = opened(tracker, 1)
    tracker.close("t", parent, "closer")
    child, _ = opened(tracker, 1, parent_item_id=f"{parent}:{group}:0", deadline=HOUR)
    clock.at += HOUR
    assert tracker.get("t", child).state is State.TIMED_OUT
    clock.at += ACK_PARENT_AFTER
    tracker.sweep()

    assert tracker.get("t", parent).state is State.COMPLETE


def test_one_request_ends_sixteen_batches_above_the_one_that_it_acks(tracker):
    chain = [opened(tracker, 1)]
    for _ in range(16 + 1):
        batch_id, group = chain[-1]
        chain.append(opened(tracker, 1, parent_item_id=f"{batch_id}:{group}:0"))
    for batch_id, _ in chain:
        tracker.close("t", batch_id, "closer")
    ack(tracker, *chain[-1], 0)
    states = [tracker.get("t", batch_id).state for batch_id, _ in chain]

    assert states == [State.CLOSED] + [State.COMPLETE] * (16 + 1)
