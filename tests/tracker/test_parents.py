"""Batches within batches: a child's end is an item of its parent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import InvalidRequest
from fanin.tracker import (
    Mode,
    OpenBatch,
    State,
)
from fanin.tracker.rules.lifecycle import ACK_PARENT_AFTER, CHECK_AFTER
from tests.tracker.calls import HOUR, ack, fail, opened


def nested(tracker, depth):
    """A chain of batches of two items, each the first item of the one above; top first."""
    chain = [opened(tracker, 2)]
    for _ in range(depth - 1):
        batch_id, group = chain[-1]
        chain.append(opened(tracker, 2, parent_item_id=f"{batch_id}:{group}:0"))
    return chain


def test_the_end_of_the_innermost_batch_ends_all_above_it(tracker):
    chain = nested(tracker, 4)
    for batch_id, group in chain:
        ack(tracker, batch_id, group, 1)
        tracker.close("t", batch_id, "closer")
    assert [tracker.get("t", batch_id).state for batch_id, _ in chain] == [State.CLOSED] * 4
    ack(tracker, *chain[-1], 0)

    assert [tracker.get("t", batch_id).result for batch_id, _ in chain] == ["succeeded"] * 4


def test_a_child_that_ends_badly_is_a_failed_item_of_its_parent(tracker, clock):
    parent, group = opened(tracker, 3)
    ends = [
        lambda child: tracker.cancel("t", child),
        lambda child: (
            fail(tracker, child, tracker.add("t", child, 1).groups[0].id, 0),
            tracker.close("t", child, "c"),
        ),
        lambda child: setattr(clock, "at", clock.at + 2 * HOUR) or tracker.sweep(),
    ]
    for index, end in enumerate(ends):
        child, _ = opened(tracker, parent_item_id=f"{parent}:{group}:{index}", deadline=HOUR)
        end(child)
    tracker.close("t", parent, "closer")
    batch = tracker.get("t", parent)

    assert (batch.state, batch.failed, batch.result) == (State.COMPLETE, 3, "completed_with_failures")
    assert all("batch" in sample.reason for sample in tracker.samples(batch))


def test_a_crash_between_the_child_and_its_parent_is_repaired_by_redelivery_and_by_the_sweeper(
    tracker, clock
):
    for repair in ("redelivery", "sweeper"):
        parent, group = opened(tracker, 1)
        tracker.close("t", parent, "closer")
        child, items = opened(tracker, 1, parent_item_id=f"{parent}:{group}:0")
        tracker.close("t", child, "closer")
        crashed = replace(tracker, _known={})
        crashed._ack_parents = lambda *_: None
        ack(crashed, child, items, 0)
        assert tracker.get("t", parent).state is State.CLOSED
        if repair == "redelivery":
            ack(tracker, child, items, 0)
        else:
            clock.at += CHECK_AFTER
            tracker.sweep()

        assert tracker.get("t", parent).state is State.COMPLETE


def test_a_parent_that_is_no_item_of_the_tenants_is_refused(tracker):
    parent, group = opened(tracker, 3)

    for item in (f"{parent}:{group}:3", f"{parent}:{parent}:0", "nonsense"):
        with pytest.raises(InvalidRequest):
            tracker.open("t", OpenBatch(parent_item_id=item))
    with pytest.raises(InvalidRequest):
        tracker.open("other", OpenBatch(parent_item_id=f"{parent}:{group}:0"))


def test_an_estimated_batch_is_no_parent(tracker):
    """Whoever finds a child ended tells its parent again, and there each word would count."""
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
