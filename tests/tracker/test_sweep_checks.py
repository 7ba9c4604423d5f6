"""What a sweep does with a due batch, and how it counts it: ended, put off, reported, announced again."""

from __future__ import annotations

import pytest

from fanin.errors import Conflict
from fanin.tracker import BatchKey, Retention, State, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.lifecycle import CHECK_AFTER, transition
from tests.tracker.calls import DAY, HOUR, START, ack, opened
from tests.tracker.stored import MINUTE, TICK


def key_of(batch_id):
    return BatchKey("t", batch_id)


def listed(tracker, monkeypatch, *ids):
    """Let the list of due batches show *ids*, whatever became of them since."""
    keys = [key_of(batch_id) for batch_id in ids]
    monkeypatch.setattr(
        tracker.store, "due", lambda shard, alive, _: keys if (shard, alive) == (0, True) else []
    )


def gone(tracker, batch_id):
    del tracker.store.batches[key_of(batch_id)]


def confirmed(tracker, batch_id):
    tracker.confirm(tracker.cancel("t", batch_id))


def put_off(tracker, batch_id):
    tracker.store.postpone(tracker.get("t", batch_id), tracker.now() + TICK)


@pytest.mark.parametrize("since", [gone, confirmed, put_off])
def test_what_is_not_due_any_more_is_not_checked(tracker, monkeypatch, since):
    batch_id, _ = opened(tracker, 1, deadline=HOUR)
    since(tracker, batch_id)
    listed(tracker, monkeypatch, batch_id)
    done = tracker.sweep()

    assert (done.looked, done.failed) == (0, 0)


def test_the_check_of_a_batch_that_fails_is_put_off(tracker, clock, monkeypatch):
    """It does not take the time of the other batches in each sweep."""
    batch_id, _ = opened(tracker, 1)
    tracker.close("t", batch_id, "closer")

    def broken(*_):
        raise ValueError("no such page")

    monkeypatch.setattr(tracker.store, "mark_tail", broken)
    clock.at += CHECK_AFTER
    first, second = tracker.sweep(), tracker.sweep()

    assert (first.looked, first.failed) == (1, 1)
    assert (second.looked, second.failed) == (0, 0)
    monkeypatch.undo()
    clock.at += CHECK_AFTER
    done = tracker.sweep()
    assert (done.looked, done.failed) == (1, 0)


def test_a_batch_without_activity_expires_before_a_later_deadline(tracker, clock):
    batch_id, _ = opened(tracker, 1, deadline=30 * DAY)
    clock.at += 7 * DAY
    done = tracker.sweep()

    assert (done.looked, done.timed_out, done.expired) == (1, 0, 1)
    assert tracker.store.get(key_of(batch_id)).end_reason == "inactivity"


def test_a_batch_with_activity_expires_at_its_greatest_age_and_says_so(tracker, clock):
    batch_id, group = opened(tracker, 500)
    for day in range(400):
        clock.at = START + day * DAY
        ack(tracker, batch_id, group, day)
    tracker.sweep()

    ended = tracker.store.get(key_of(batch_id))
    assert (ended.state, ended.end_reason, ended.ended_at - START) == (State.EXPIRED, "age", 393 * DAY)


@pytest.mark.parametrize(("after", "resent"), [(MINUTE, 0), (CHECK_AFTER - TICK, 0), (CHECK_AFTER, 1)])
def test_an_ending_event_is_resent_once_the_bus_had_its_time_to_confirm_it(tracker, clock, after, resent):
    """The end of a child is checked sooner: its parent's item is to be acked."""
    parent, group = opened(tracker, 1)
    child, _ = opened(tracker, 1, parent_item_id=f"{parent}:{group}:0")
    tracker.cancel("t", child)
    clock.at += after
    done = tracker.sweep()

    assert (done.looked, done.announced_again, done.failed) == (1, resent, 0)
    assert len(tracker.store.notices) == resent


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
