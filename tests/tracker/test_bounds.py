"""What one ack request may ask for, and how little it asks of the store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import TooManyBatches, TooManyPages
from fanin.pacing import each_in_threads
from fanin.tracker import Ack, Outcome, State, Tracker, Verdict
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads import sampling
from fanin.tracker.rules.acking import BATCHES_MAX, PAGES_MAX
from fanin.tracker.writing import recording
from tests.tracker.calls import DAY, fail, opened
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


def test_a_request_of_items_of_too_many_batches_is_refused_before_anything_is_read(clock):
    tracker = Tracker(Metered(), page_bits=4, now=clock, pause=lambda _: None)
    batches = [opened(tracker, 1) for _ in range(BATCHES_MAX + 1)]
    acks = [Ack(*of, 0, 0, "me") for of in batches]
    tracker.store.reset()

    with pytest.raises(TooManyBatches, match=rf"{BATCHES_MAX + 1} batches.* {BATCHES_MAX} .*; send fewer"):
        tracker.ack("t", acks)
    assert not tracker.store.calls
    assert len(tracker.ack("t", acks[1:] * 2).results) == 2 * BATCHES_MAX


@pytest.mark.parametrize("outcome", Outcome)
def test_as_many_batches_as_a_request_may_name_cost_no_more_than_as_many_pages(clock, outcome):
    """Each of them ends by the request, and so do its parent and the parent's parent."""
    tracker = Tracker(Metered(), page_bits=4, now=clock, fresh_for=timedelta(0), pause=lambda _: None)
    batches = [opened(tracker, 1) for _ in range(BATCHES_MAX)]
    for _ in range(2):
        batches += [opened(tracker, 1, parent_item_id=f"{of[0]}:{of[1]}:0") for of in batches[-BATCHES_MAX:]]
    for batch_id, _ in batches:
        tracker.close("t", batch_id, "closer")
    clock.at += DAY
    tracker.store.reset()
    report = tracker.ack("t", [Ack(*of, 0, 0, "me", outcome) for of in batches[-BATCHES_MAX:]])

    assert len(report.completions) == BATCHES_MAX
    assert {tracker.get("t", batch_id).state for batch_id, _ in batches} == {State.COMPLETE}
    assert tracker.store.calls.total() <= 3 * max(PAGES_MAX.values())


def test_a_batch_is_asked_once_a_request_whether_it_bears_so_many_failures(clock):
    tracker = Tracker(Metered(), page_bits=4, now=clock, pause=lambda _: None)
    one, two = (opened(tracker, 100, max_failures=most) for most in (3, 90))
    acks = [Ack(*of, at, at, "me", FAILURE) for at in range(0, 100, 4) for of in (one, two)]
    tracker.store.reset()
    report = replace(tracker, _known={}).ack("t", acks)

    assert tracker.store.calls["add_bits"] + tracker.store.calls["replace_bits"] == 50
    assert tracker.store.calls["get"] == 2 * 2  # before the first page of a batch, and after its last
    assert not report.completions
    assert tracker.get("t", one[0]).state is State.FAILED
    assert tracker.get("t", two[0]).state is State.OPEN


def test_a_request_offers_a_bounded_number_of_reasons():
    tracker = Tracker(Metered(), pause=lambda _: None)
    batch_id, group = opened(tracker, 1000)
    fail(tracker, batch_id, group, *range(200))
    kept = len(tracker.samples(tracker.get("t", batch_id)))
    offers = tracker.store.calls["sample"]
    fail(tracker, batch_id, group, *range(200, 300))

    assert 1 <= kept <= recording.OFFERS_A_REQUEST
    assert offers <= recording.OFFERS_A_REQUEST * sampling.SAMPLE_PROBES
    assert len(tracker.samples(tracker.get("t", batch_id))) > kept


def test_the_parents_items_of_many_children_are_acked_though_they_end_at_once():
    tracker = Tracker(MemoryStore(), page_bits=8, pause=lambda _: None, each=each_in_threads)
    parent, group = opened(tracker, 50)
    children = [opened(tracker, 1, parent_item_id=f"{parent}:{group}:{at}") for at in range(50)]
    for batch_id in (parent, *(batch_id for batch_id, _ in children)):
        tracker.close("t", batch_id, "closer")
    tracker.ack("t", [Ack(batch_id, of, 0, 0, "me") for batch_id, of in children])

    assert tracker.get("t", parent).result == "succeeded"
