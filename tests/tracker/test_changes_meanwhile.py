"""What another process or the clock changes between the read of a batch and the write that follows."""

from __future__ import annotations

import logging

import pytest

from fanin.errors import BatchEnded, NotFound
from fanin.tracker import Mode, Tracker
from fanin.tracker.memory import MemoryStore
from tests.tracker.calls import ack, fail, opened


class Watched(MemoryStore):
    """Runs *meanwhile* once, before the next transition is sent."""

    meanwhile = None

    def transition(self, key, change):
        if act := self.meanwhile:
            self.meanwhile = None
            act()
        return super().transition(key, change)


class Deleting(MemoryStore):
    """With *deletes*, confirms and deletes each batch right after a transition has returned it."""

    deletes = False

    def transition(self, key, change):
        stored = super().transition(key, change)
        if self.deletes:
            self.postpone(stored, None)
            self.delete(stored, change.at)
        return stored


@pytest.fixture
def tracker(clock):
    return Tracker(Watched(), page_bits=4, now=clock, pause=lambda _: None)


@pytest.mark.parametrize(
    "act",
    [
        lambda tracker, batch_id: tracker.close("t", batch_id, "closer"),
        lambda tracker, batch_id: tracker.cancel("t", batch_id),
        lambda tracker, batch_id: tracker.end("t", batch_id, "stuck", "a person"),
    ],
    ids=["close", "cancel", "end"],
)
def test_a_batch_whose_row_is_gone_by_then_is_not_found(tracker, act):
    batch_id, _ = opened(tracker, 2)
    tracker.store.meanwhile = tracker.store.batches.clear

    with pytest.raises(NotFound, match=f"there is no batch {batch_id}"):
        act(tracker, batch_id)


def test_the_last_ack_of_a_batch_whose_row_is_gone_by_then_completes_nothing(tracker):
    batch_id, group = opened(tracker, 1)
    tracker.close("t", batch_id, "closer")
    tracker.store.meanwhile = tracker.store.batches.clear

    assert ack(tracker, batch_id, group, 0).completions == ()


def test_a_child_that_has_too_many_failures_no_more_has_not_ended_for_its_parent(tracker):
    parent, items = opened(tracker, 1)
    child, group = opened(tracker, 3, parent_item_id=f"{parent}:{items}:0", max_failures=2)
    tracker.store.meanwhile = lambda: ack(tracker, child, group, 0)
    fail(tracker, child, group, 0, 1)

    assert tracker.get("t", child).failed == 1
    assert tracker.progress(tracker.get("t", parent)).acked == 0


def test_a_repeated_close_is_refused_for_the_end_that_came_meanwhile(tracker):
    batch_id, _ = opened(tracker, 2)
    tracker.close("t", batch_id, "closer")
    tracker.store.meanwhile = lambda: tracker.cancel("t", batch_id)

    with pytest.raises(BatchEnded, match="CANCELLED"):
        tracker.close("t", batch_id, "closer")


def test_only_the_call_that_may_have_forced_an_end_is_logged(tracker, caplog):
    forced, _ = opened(tracker, 2)
    cancelled, _ = opened(tracker, 2)
    with caplog.at_level(logging.WARNING, "fanin"):
        first = tracker.end("t", forced, "stuck", "a person")
        assert tracker.end("t", forced, "stuck", "a person") == first
        tracker.store.meanwhile = lambda: tracker.cancel("t", cancelled)
        with pytest.raises(BatchEnded, match="CANCELLED"):
            tracker.end("t", cancelled, "stuck", "a person")

    assert [record.batch_id for record in caplog.records] == [forced]


def test_a_completion_that_a_repeated_ack_finds_is_reported_if_the_batch_is_deleted_meanwhile(clock):
    """The full counter refuses the ack of a process that read the batch before it was complete."""
    store = Deleting()
    here, there = (Tracker(store, page_bits=4, now=clock, pause=lambda _: None) for _ in range(2))
    batch_id, group = opened(here, 3, mode=Mode.ESTIMATED)
    here.close("t", batch_id, "closer")
    ack(here, batch_id, group, 0)
    first = ack(there, batch_id, group, 1, 2)
    store.deletes = True
    again = ack(here, batch_id, group, 1, 2)

    assert [[done.caller for done in report.completions] for report in (first, again)] == [["me"], ["me"]]
    with pytest.raises(NotFound):
        here.get("t", batch_id)
