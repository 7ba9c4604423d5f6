"""A percentage of failures ends a batch once its total is final, and not before."""

from __future__ import annotations

import pytest

from fanin.errors import BatchEnded
from fanin.tracker import State, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.lifecycle import CHECK_AFTER
from tests.tracker.calls import fail, opened


def state(tracker: Tracker, batch_id: str) -> State:
    return tracker.get("t", batch_id).state


@pytest.mark.parametrize(
    ("total", "percent", "enough"),
    [(20, 10, 2), (21, 10, 3), (3, 1, 1), (3, 34, 2), (3, 33, 1), (7, 50, 4), (5, 100, 5)],
)
def test_as_many_failures_as_the_percentage_needs_end_a_closed_batch(tracker, total, percent, enough):
    batch_id, group = opened(tracker, total, max_failure_percent=percent)
    tracker.close("t", batch_id, "closer")
    fail(tracker, batch_id, group, *range(enough - 1))
    assert state(tracker, batch_id) is State.CLOSED
    fail(tracker, batch_id, group, enough - 1)

    # of five failures of five the last one leaves nothing to be done: then the batch is complete
    assert state(tracker, batch_id) is (State.FAILED if enough < total else State.COMPLETE)


def test_an_open_batch_bears_any_percentage_and_its_close_ends_it(tracker):
    batch_id, group = opened(tracker, 10, max_failure_percent=20)
    fail(tracker, batch_id, group, *range(9))
    assert state(tracker, batch_id) is State.OPEN
    with pytest.raises(BatchEnded, match=r"is FAILED \(too_many_failures\); it does not complete"):
        tracker.close("t", batch_id, "closer")

    assert state(tracker, batch_id) is State.FAILED


def test_a_batch_whose_items_are_all_acked_is_complete_however_many_failed(tracker):
    batch_id, group = opened(tracker, 10, max_failure_percent=20)
    fail(tracker, batch_id, group, *range(10))
    batch = tracker.close("t", batch_id, "closer").batch

    assert (batch.state, batch.result) == (State.COMPLETE, "completed_with_failures")


def test_the_sweeper_ends_a_batch_whose_close_died_before_it_looked_at_the_failures(clock):
    class Dying(MemoryStore):
        def mark_tail(self, *args):
            raise ConnectionResetError

    store = Dying()
    tracker = Tracker(store, page_bits=4, now=clock, pause=lambda _: None)
    batch_id, group = opened(tracker, 10, max_failure_percent=20)
    fail(tracker, batch_id, group, 0, 1)
    with pytest.raises(ConnectionResetError):
        tracker.close("t", batch_id, "closer")
    del Dying.mark_tail
    clock.at += CHECK_AFTER
    tracker.sweep()

    assert state(tracker, batch_id) is State.FAILED
