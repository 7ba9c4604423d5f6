"""Estimated batches: acks are counted, duplicates too."""

from __future__ import annotations

import pytest

from fanin.errors import Conflict
from fanin.tracker import Ack, BatchKey, Mode, Tracker
from fanin.tracker.batch_changes.climb import Climber
from fanin.tracker.batch_changes.recording import Recorder
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.acking import plan
from tests.tracker.calls import HOUR, START, ack, fail, opened, verdicts

ENDS = [
    ("cancelled", lambda tracker, batch_id: tracker.cancel("t", batch_id)),
    ("expired", lambda tracker, batch_id: tracker.store.batches.pop(BatchKey("t", batch_id))),
    ("late", lambda tracker, batch_id: tracker.close("t", batch_id, "closer")),
    ("late", lambda tracker, batch_id: setattr(tracker.now, "at", START + HOUR)),
]


@pytest.fixture
def two(clock):
    """Two processes on one store: one that acks, and may take an ended batch for live, and another."""
    store = MemoryStore()
    return [Tracker(store, page_bits=4, now=clock, pause=lambda _: None) for _ in range(2)]


@pytest.mark.parametrize(("verdict", "end"), ENDS)
def test_the_verdict_of_a_full_counter_is_that_of_the_end_of_its_estimated_batch(two, verdict, end):
    here, there = two
    batch_id, group = opened(here, 2**20, mode=Mode.ESTIMATED, deadline=HOUR)
    for first, last in ((0, 2**19 - 1), (2**19, 2**20 - 1)):
        here.ack("t", [Ack(batch_id, group, first, last, "me")])
    assert verdicts(ack(here, batch_id, group, 0)) == ["duplicate"]
    end(there, batch_id)

    assert verdicts(ack(here, batch_id, group, 0)) == [verdict]
    assert verdicts(fail(here, batch_id, group, 1)) == [verdict]


def test_an_estimated_batch_does_not_know_what_is_missing(tracker):
    batch_id, _ = opened(tracker, 4, mode=Mode.ESTIMATED)

    with pytest.raises(Conflict):
        tracker.outstanding(tracker.get("t", batch_id))
    with pytest.raises(Conflict):
        tracker.failures(tracker.get("t", batch_id))


def test_a_live_batch_whose_full_counter_refuses_an_ack_is_not_reported_as_ended(tracker, clock):
    """The counter of an estimated batch is full after 2^20 acks, duplicates among them."""
    batch_id, group = opened(tracker, 2**20, mode=Mode.ESTIMATED)
    for _ in range(2):
        assert verdicts(tracker.ack("t", [Ack(batch_id, group, 0, 2**19 - 1, "me")])) == ["accepted"]
    again = plan([Ack(batch_id, group, 7, 7, "me")], lambda each: tracker.get("t", each), clock.at)
    recorder = Recorder(Climber(tracker.store, clock))
    recorder.record(again)

    assert [result.verdict for result in again.results()] == ["duplicate"]
    assert recorder.ended == {}
