"""What the recorder reports of batches that end, and in which order it writes the pages of a request."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.tracker import Ack, BatchKey, Mode, Outcome, PageMasks, State, Tracker, Verdict
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.acking import plan
from fanin.tracker.rules.model import PageKey
from fanin.tracker.writing.climb import Climber
from fanin.tracker.writing.recording import Recorder
from tests.tracker.calls import DAY, START, opened, verdicts

ALL = 0b1111


def put(tracker, batch_id, pages):
    done = tracker.ack_pages("t", batch_id, pages, "bulk")
    return [(page.number, dict(page.counts)) for page in done]


def test_the_pages_of_an_expired_batch_are_answered_in_order(tracker, clock):
    batch_id, _ = opened(tracker, 12)
    clock.at += 8 * DAY
    pages = {number: PageMasks(0b11) for number in (2, 0, 1)}

    assert put(tracker, batch_id, pages) == [(number, {Verdict.EXPIRED: 2}) for number in range(3)]


class Uncompacted(MemoryStore):
    """A store whose compactions are lost."""

    def compact(self, key, count):
        """Leave the page as it is."""


def test_an_end_that_two_pages_of_a_request_find_is_reported_once(clock):
    """A crash left both full pages without their bits in the root."""
    tracker = Tracker(Uncompacted(), page_bits=4, fresh_for=timedelta(0), now=clock)
    batch_id, _ = opened(tracker, 8)
    key = BatchKey("t", batch_id)
    for number in range(2):
        tracker.store.add_bits(PageKey(key, 0, number), PageMasks(ALL), START + DAY)
    batch = tracker.close("t", batch_id, "closer").batch
    assert batch.state is State.CLOSED
    recorder = Recorder(Climber(tracker.store, clock))
    recorder.record_folded(batch, {number: PageMasks(ALL) for number in range(2)}, "bulk", clock.at)

    assert [ended.state for ended in recorder.ended.values()] == [State.COMPLETE]


def test_a_live_batch_whose_full_counter_refuses_an_ack_is_not_reported_as_ended(tracker, clock):
    """The counter of an estimated batch is full after 2^20 acks, duplicates among them."""
    batch_id, group = opened(tracker, 2**20, mode=Mode.ESTIMATED)
    for _ in range(2):
        assert verdicts(tracker.ack("t", [Ack(batch_id, group, 0, 2**19 - 1, "me")])) == ["accepted"]
    again = plan([Ack(batch_id, group, 7, 7, "me")], lambda each: tracker.get("t", each), clock.at)
    recorder = Recorder(Climber(tracker.store, clock))
    recorder.record(again)

    assert [result.verdict for result in again.results()] == [Verdict.DUPLICATE]
    assert recorder.ended == {}


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("limit", [{"max_failures": 1}, {"max_failure_percent": 10}])
def test_all_failures_of_a_request_count_before_they_end_the_batch(tracker, limit, folded):
    """The limit is checked after the last page of failures, not after each."""
    batch_id, group = opened(tracker, 20, **limit)
    tracker.close("t", batch_id, "closer")
    if folded:
        found = put(tracker, batch_id, {page: PageMasks(failure=0b1) for page in range(4)})
        assert found == [(page, {Verdict.ACCEPTED: 1}) for page in range(4)]
    else:
        acks = [Ack(batch_id, group, at, at, "me", Outcome.FAILURE) for at in (0, 4, 8, 12)]
        assert verdicts(tracker.ack("t", acks)) == ["accepted"] * 4
    batch = tracker.get("t", batch_id)
    assert (batch.failed, batch.result) == (4, "too_many_failures")
