"""How a batch ends otherwise: cancelled, out of time, forgotten."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from fanin.errors import BatchEnded, Conflict
from fanin.tracker import Ack, OpenBatch, Retention, State, Tracker, Verdict
from fanin.tracker.memory import MemoryStore
from tests.tracker.calls import DAY, HOUR, ack, opened, verdicts
from tests.tracker.metered import Metered


def test_a_cancelled_batch_takes_no_acks_and_completes_never(tracker):
    batch_id, group = opened(tracker, 3)
    ack(tracker, batch_id, group, 0)
    batch = tracker.cancel("t", batch_id, "no longer wanted")

    assert (batch.state, batch.result, batch.end_reason) == (State.CANCELLED, "cancelled", "no longer wanted")
    assert verdicts(ack(tracker, batch_id, group, 0, 1, 2)) == ["duplicate", "cancelled", "cancelled"]
    assert tracker.cancel("t", batch_id, "again") == batch
    for refused in (
        lambda: tracker.close("t", batch_id, "closer"),
        lambda: tracker.add("t", batch_id, 1),
        lambda: tracker.end("t", batch_id, "stuck", "a person"),
    ):
        with pytest.raises(BatchEnded, match=r"is CANCELLED \(cancelled: no longer wanted\)") as error:
            refused()
        assert (error.value.batch_id, error.value.state) == (batch_id, "CANCELLED")
        assert (error.value.result, error.value.reason) == ("cancelled", "no longer wanted")


def test_the_items_of_an_earlier_add_are_returned_unless_they_cannot_be_done_any_more(tracker):
    done, cancelled = (tracker.open("t", OpenBatch()).batch_id for _ in range(2))
    added = [tracker.add("t", each, 2, key="rows") for each in (done, cancelled)]
    for each in (done, cancelled):
        tracker.close("t", each, "closer")
    assert [tracker.add("t", each, 2, key="rows") for each in (done, cancelled)] == added
    ack(tracker, done, added[0].groups[0].id, 0, 1)
    tracker.cancel("t", cancelled)

    assert tracker.add("t", done, 2, key="rows") == added[0]
    with pytest.raises(BatchEnded):
        tracker.add("t", cancelled, 2, key="rows")


def test_a_close_that_is_refused_is_not_sent(tracker):
    # A late copy of it closed the batch after the next add, though its caller was refused: seed 31983.
    batch_id, _ = opened(tracker, 90, expected_items=100)
    sent = []
    carried, tracker.store.transition = tracker.store.transition, lambda *args: sent.append(args)

    with pytest.raises(Conflict, match="has 90"):
        tracker.close("t", batch_id, "closer")
    assert sent == []
    tracker.store.transition = carried
    tracker.add("t", batch_id, 10)
    assert tracker.close("t", batch_id, "closer").batch.total == 100


def test_activity_is_written_down_a_few_times_a_retention(clock):
    tracker = Tracker(Metered(), now=clock)
    batch_id, group = opened(tracker, 1000, retention=Retention(open=8 * HOUR))
    for index in range(480):
        clock.at += timedelta(minutes=1)
        ack(tracker, batch_id, group, index)

    assert 7 <= tracker.store.calls["extend"] <= 9


def test_no_batch_completes_after_its_deadline_on_old_knowledge(clock):
    tracker = Tracker(MemoryStore(), page_bits=4, fresh_for=DAY, now=clock)
    batch_id, group = opened(tracker, 2, deadline=HOUR)
    tracker.close("t", batch_id, "closer")
    ack(tracker, batch_id, group, 0)
    clock.at += 2 * HOUR

    assert verdicts(ack(tracker, batch_id, group, 1)) == ["late"]
    assert tracker.get("t", batch_id).state is State.TIMED_OUT


def test_a_batch_that_comes_due_while_an_ack_looks_at_another_has_not_expired_for_that_ack(clock):
    store = MemoryStore()
    tracker = Tracker(store, page_bits=4, fresh_for=timedelta(0), now=clock, pause=lambda _: None)
    due, group = opened(tracker, 4, retention=Retention(open=2 * HOUR))
    other, another = opened(tracker, 1)
    clock.at += 2 * HOUR - timedelta(minutes=1)
    read = store.get

    def read_slowly(key):
        clock.at += HOUR if key.batch_id == other else timedelta(0)
        return read(key)

    store.get = read_slowly

    acks = [Ack(due, group, 0, 0, "me"), Ack(other, another, 0, 0, "me")]
    assert verdicts(tracker.ack("t", acks)) == ["accepted", "accepted"]


def test_a_forced_end_is_not_a_completion_and_says_who_and_why(tracker, caplog):
    batch_id, group = opened(tracker, 5)
    ack(tracker, batch_id, group, 0)
    with caplog.at_level(logging.WARNING, "fanin"):
        batch = tracker.end("t", batch_id, "stuck since noon", "a person")

    assert (batch.state, batch.result) == (State.FAILED, "forced")
    assert (batch.ended_by, batch.end_reason, batch.completed_at) == ("a person", "stuck since noon", None)
    assert verdicts(ack(tracker, batch_id, group, 0, 1)) == [Verdict.DUPLICATE, Verdict.LATE]
    (line,) = caplog.records
    assert (line.batch_id, line.by) == (batch_id, "a person")
    assert "noon" not in line.getMessage()
