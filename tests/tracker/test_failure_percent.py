"""A percentage of failures ends a batch once its total is final, and not before."""

from __future__ import annotations

import pytest

from fanin.errors import BatchEnded
from fanin.tracker import Mode, State, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.lifecycle import CHECK_AFTER
from tests.tracker.calls import ack, fail, opened


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


def test_items_that_are_added_make_room_for_failures(tracker):
    batch_id, group = opened(tracker, 10, max_failure_percent=20)
    fail(tracker, batch_id, group, 0, 1)
    tracker.add("t", batch_id, 10)

    assert tracker.close("t", batch_id, "closer").batch.state is State.CLOSED


def test_a_batch_whose_items_are_all_acked_is_complete_however_many_failed(tracker):
    batch_id, group = opened(tracker, 10, max_failure_percent=20)
    fail(tracker, batch_id, group, *range(10))
    batch = tracker.close("t", batch_id, "closer").batch

    assert (batch.state, batch.result) == (State.COMPLETE, "completed_with_failures")


def test_the_number_and_the_percentage_each_end_a_batch(tracker):
    few, many = (opened(tracker, 20, max_failures=most, max_failure_percent=20) for most in (3, 10))
    for batch_id, group in (few, many):
        fail(tracker, batch_id, group, 0, 1, 2)

    assert (state(tracker, few[0]), state(tracker, many[0])) == (State.FAILED, State.OPEN)
    tracker.close("t", many[0], "closer")
    fail(tracker, *many, 3)
    assert state(tracker, many[0]) is State.FAILED


def test_a_healed_item_is_no_failure(tracker):
    batch_id, group = opened(tracker, 10, max_failure_percent=20)
    tracker.close("t", batch_id, "closer")
    fail(tracker, batch_id, group, 0)
    ack(tracker, batch_id, group, 0)
    fail(tracker, batch_id, group, 1)

    assert state(tracker, batch_id) is State.CLOSED


def test_failures_of_an_estimated_batch_end_it_by_a_percentage(tracker):
    batch_id, group = opened(tracker, 10, mode=Mode.ESTIMATED, max_failure_percent=20)
    tracker.close("t", batch_id, "closer")
    fail(tracker, batch_id, group, 0, 1)

    assert state(tracker, batch_id) is State.FAILED


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


def test_the_sweeper_completes_a_batch_that_is_done_whatever_failed(clock):
    store = MemoryStore()
    tracker = Tracker(store, page_bits=4, now=clock, pause=lambda _: None)
    batch_id, group = opened(tracker, 4, max_failure_percent=50)
    done = store.transition
    store.transition = lambda key, change: (
        store.get(key) if change.to is not State.CLOSED else done(key, change)
    )
    tracker.close("t", batch_id, "closer")
    with pytest.raises(Exception, match="repeat the request"):
        fail(tracker, batch_id, group, 0, 1, 2, 3)
    store.transition = done
    clock.at += CHECK_AFTER
    tracker.sweep()

    assert state(tracker, batch_id) is State.COMPLETE
