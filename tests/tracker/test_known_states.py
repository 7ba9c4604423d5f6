"""The states that a tracker keeps after it has read or written them: for how long, how many, and which."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.tracker import OpenBatch, Retention, State, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.reading import Reader
from tests.tracker.calls import DAY, ack, opened
from tests.tracker.stored import TICK

FRESH = timedelta(seconds=5)


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def other(store, clock):
    """Another process, which keeps no state."""
    return Tracker(store, page_bits=4, fresh_for=timedelta(0), now=clock, pause=lambda _: None)


@pytest.fixture
def lasting(other):
    """A process that keeps the state of a live batch for ten days."""
    return replace(other, fresh_for=10 * DAY, _known={})


@pytest.mark.parametrize("kind", [Reader, Tracker])
def test_a_state_is_kept_for_five_seconds_unless_another_time_is_set(store, clock, other, kind):
    tracker = kind(store, now=clock)
    batch_id, _ = opened(other)
    assert tracker.state_of("t", batch_id) is State.OPEN
    other.cancel("t", batch_id)

    clock.at += FRESH - TICK
    assert tracker.state_of("t", batch_id) is State.OPEN
    clock.at += TICK
    assert tracker.state_of("t", batch_id) is State.CANCELLED


@pytest.mark.parametrize(
    "end",
    [
        lambda tracker, batch_id: tracker.cancel("t", batch_id),
        lambda tracker, batch_id: tracker.end("t", batch_id, "stuck", "a person"),
        lambda tracker, batch_id: tracker.close("t", batch_id, "closer"),
    ],
    ids=["cancel", "end", "close"],
)
def test_the_end_that_a_process_wrote_itself_is_known_at_once(other, lasting, end):
    batch_id = other.open("t", OpenBatch()).batch_id
    assert lasting.state_of("t", batch_id) is State.OPEN
    state = getattr(end(lasting, batch_id), "batch", other.get("t", batch_id)).state

    assert state is not State.OPEN
    assert lasting.state_of("t", batch_id) is state


def test_the_end_that_an_ack_finds_is_known_at_once(lasting):
    batch_id, group = opened(lasting, 2)
    lasting.close("t", batch_id, "closer")
    assert lasting.state_of("t", batch_id) is State.CLOSED
    ack(lasting, batch_id, group, 0, 1)

    assert lasting.state_of("t", batch_id) is State.COMPLETE


@pytest.mark.parametrize(
    ("options", "later"),
    [({"retention": Retention(open=DAY)}, DAY / 8), ({"stuck_after": DAY}, DAY / 8)],
    ids=["the expiry of an active batch", "the time of an ack"],
)
def test_an_end_by_another_process_is_known_after_the_write_of(clock, other, lasting, options, later):
    """The row that the write returns replaces the older state."""
    batch_id, group = opened(other, 2, **options)
    assert lasting.state_of("t", batch_id) is State.OPEN
    other.cancel("t", batch_id)
    clock.at += later
    ack(lasting, batch_id, group, 0)

    assert lasting.state_of("t", batch_id) is State.CANCELLED
