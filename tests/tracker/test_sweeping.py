"""The sweeper ends, repairs and announces what crashed callers left, and is not put off."""

from __future__ import annotations

import pytest

from fanin.errors import Conflict
from fanin.tracker import BatchKey, Retention, State, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.lifecycle import CHECK_AFTER, transition
from tests.tracker.calls import HOUR, ack, opened


def test_notify_sends_the_event_of_an_ended_batch_alone(tracker):
    batch_id, _ = opened(tracker)

    with pytest.raises(Conflict):
        tracker.notify("t", batch_id)
    batch = tracker.close("t", batch_id, "closer").batch
    assert tracker.notify("t", batch_id) == batch
    assert tracker.store.notices


def test_a_process_that_takes_a_closed_batch_for_open_does_not_put_the_sweeper_off(clock):
    store = MemoryStore()
    here, there = (Tracker(store, page_bits=4, now=clock, pause=lambda _: None) for _ in range(2))
    batch_id, group = opened(here, 2, retention=Retention(open=8 * HOUR, closed=HOUR))
    clock.at += 2 * HOUR
    here.get("t", batch_id)
    here._known_batch(BatchKey("t", batch_id))
    there.close("t", batch_id, "closer")
    ack(here, batch_id, group, 0)
    batch = here.get("t", batch_id)

    assert batch.expires_at == clock.at + 8 * HOUR
    assert batch.next_check_at == clock.at + CHECK_AFTER


def test_activity_does_not_put_the_sweeper_off(tracker, clock):
    """Close got no further than CLOSED, and the one ack comes again and again."""
    batch_id, group = opened(tracker, 1, retention=Retention(closed=HOUR))
    tracker.store.transition(
        BatchKey("t", batch_id), transition(tracker.get("t", batch_id), State.CLOSED, clock.at)
    )
    ack(tracker, batch_id, group, 0)
    for _ in range(2):
        clock.at += CHECK_AFTER / 2
        ack(tracker, batch_id, group, 0)

    assert tracker.sweep().completed == 1
