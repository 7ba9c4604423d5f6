"""What one ack request may ask for, and how little it asks of the store."""

from __future__ import annotations

import pytest

from fanin.errors import TooManyBatches, TooManyPages
from fanin.pacing import each_in_threads
from fanin.tracker import Ack, Outcome, Tracker, Verdict
from fanin.tracker.batch_changes import recording
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads import failure_reasons
from fanin.tracker.rules.acking import BATCHES_MAX, PAGES_MAX
from tests.tracker.calls import fail, opened
from tests.tracker.metered import Metered

SUCCESS, FAILURE = Outcome.SUCCESS, Outcome.FAILURE


@pytest.mark.parametrize("outcome", Outcome)
def test_a_request_that_touches_too_many_pages_is_refused_before_anything_is_written(tracker, outcome):
    most = PAGES_MAX[outcome]
    batch_id, group = opened(tracker, 4 * most + 1)

    with pytest.raises(TooManyPages, match=rf"{most} pages, of 4 items .*; send fewer"):
        tracker.ack("t", [Ack(batch_id, group, 0, 4 * most, "me", outcome)])
    assert not tracker.store.stored_pages
    (result,) = tracker.ack("t", [Ack(batch_id, group, 0, 4 * most - 1, "me", outcome)]).results
    assert result.counts == {Verdict.ACCEPTED: 4 * most}


def test_a_request_of_items_of_too_many_batches_is_refused_before_anything_is_read(tracker):
    batches = [opened(tracker, 1) for _ in range(BATCHES_MAX + 1)]
    acks = [Ack(*of, 0, 0, "me") for of in batches]
    tracker.store.reset()

    with pytest.raises(TooManyBatches, match=rf"{BATCHES_MAX + 1} batches.* {BATCHES_MAX} .*; send fewer"):
        tracker.ack("t", acks)
    assert not tracker.store.calls
    assert len(tracker.ack("t", acks[1:] * 2).results) == 2 * BATCHES_MAX


def test_a_request_offers_a_bounded_number_of_reasons():
    tracker = Tracker(Metered(), pause=lambda _: None)
    batch_id, group = opened(tracker, 1000)
    fail(tracker, batch_id, group, *range(200))
    kept = len(tracker.samples(tracker.get("t", batch_id)))
    offers = tracker.store.calls["sample"]
    fail(tracker, batch_id, group, *range(200, 300))

    assert 1 <= kept <= recording.OFFERS_A_REQUEST
    assert offers <= recording.OFFERS_A_REQUEST * failure_reasons.SAMPLE_PROBES
    assert len(tracker.samples(tracker.get("t", batch_id))) > kept


def test_the_parents_items_of_many_children_are_acked_though_they_end_at_once():
    tracker = Tracker(MemoryStore(), page_bits=8, pause=lambda _: None, each=each_in_threads)
    parent, group = opened(tracker, 50)
    children = [opened(tracker, 1, parent_item_id=f"{parent}:{group}:{at}") for at in range(50)]
    for batch_id in (parent, *(batch_id for batch_id, _ in children)):
        tracker.close("t", batch_id, "closer")
    tracker.ack("t", [Ack(batch_id, of, 0, 0, "me") for batch_id, of in children])

    assert tracker.get("t", parent).result == "succeeded"
