"""What failed: counted, listed, sampled and healed; acks folded to masks of pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanin.errors import Conflict, InvalidRequest
from fanin.tracker import Ack, Mode, Outcome, PageMasks, Tracker, Verdict
from fanin.tracker.dynamodb import requests
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import BatchKey, PageKey
from fanin.tracker.rules.page import Page, mask_of
from tests.tracker.calls import START, fail, opened, verdicts


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 6, 7])
def test_a_large_range_is_healed_in_few_parts_that_a_transaction_can_guard(step):
    class Noting(MemoryStore):
        def heal_bits(self, key, mask):
            request = requests.heal_bits(("batches", "pages"), key, mask)
            conditions.append(request["TransactItems"][0]["Update"]["ConditionExpression"])
            return super().heal_bits(key, mask)

    conditions = []
    tracker = Tracker(Noting(), pause=lambda _: None)
    batch_id, group = opened(tracker, 1024)
    fail(tracker, batch_id, group, *range(0, 1024, step))
    tracker.ack("t", [Ack(batch_id, group, 0, 1023, "me")])

    assert tracker.get("t", batch_id).failed == 0
    assert 1 < len(conditions) <= 9
    assert all(len(condition) <= 4096 and condition.count(" IN ") <= 150 for condition in conditions)


def test_the_end_of_a_batch_is_reported_again_to_its_caller_on_any_page_of_a_later_request(tracker):
    batch_id, group = opened(tracker, 8)
    tracker.close("t", batch_id, "closer")
    fail(tracker, batch_id, group, *range(4), caller="first")
    fail(tracker, batch_id, group, *range(4, 8), caller="last")
    acks = [Ack(batch_id, group, 4, 4, "last", Outcome.FAILURE), Ack(batch_id, group, 0, 0, "first")]

    for request in (acks, acks[::-1]):
        assert [completion.caller for completion in tracker.ack("t", request).completions] == ["last"]


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("limit", [{"max_failures": 1}, {"max_failure_percent": 10}])
def test_all_failures_of_a_request_count_before_they_end_the_batch(tracker, limit, folded):
    """The limit is checked after the last page of failures, not after each."""
    batch_id, group = opened(tracker, 20, **limit)
    tracker.close("t", batch_id, "closer")

    if folded:
        found = tracker.ack_pages("t", batch_id, {page: PageMasks(failure=0b1) for page in range(4)}, "bulk")
        assert [dict(page.counts) for page in found] == [{Verdict.ACCEPTED: 1}] * 4
    else:
        acks = [Ack(batch_id, group, at, at, "me", Outcome.FAILURE) for at in (0, 4, 8, 12)]
        assert verdicts(tracker.ack("t", acks)) == ["accepted"] * 4

    batch = tracker.get("t", batch_id)
    assert (batch.failed, batch.result) == (4, "too_many_failures")


items = st.sets(st.integers(0, 29))


def folded(good, bad=(), width=4) -> dict[int, PageMasks]:
    pages: dict[int, list[int]] = {}
    for outcome, places in enumerate((good, bad)):
        for place in places:
            pages.setdefault(place // width, [0, 0])[outcome] |= 1 << place % width
    return {number: PageMasks(*masks) for number, masks in pages.items()}


def put(tracker, batch_id, good, bad=()) -> list[tuple]:
    results = tracker.ack_pages("t", batch_id, folded(good, bad), "bulk")
    return [(page.number, dict(page.counts), page.written, page.failed, page.healed) for page in results]


@settings(deadline=None)
@given(items, items, items, items)
def test_folded_acks_leave_what_single_acks_leave(good, bad, earlier_good, earlier_bad):
    def played(bulk: bool):
        tracker = Tracker(MemoryStore(), page_bits=4, now=lambda: START, pause=lambda _: None)
        batch_id, group = opened(tracker, 30)
        for good_ones, bad_ones in ((earlier_good, earlier_bad - earlier_good), (good, bad)):
            if bulk:
                tracker.ack_pages("t", batch_id, folded(good_ones, bad_ones), "bulk")
            else:
                acks = [Ack(batch_id, group, i, i, "one") for i in good_ones]
                acks += [Ack(batch_id, group, i, i, "one", Outcome.FAILURE) for i in bad_ones]
                tracker.ack("t", acks)
        tracker.close("t", batch_id, "me")
        batch = tracker.get("t", batch_id)
        stored = tracker.store.stored_pages.items()
        leaves = {key.number: page for key, page in stored if key.level == 0}
        above = {
            (key.level, key.number): replace(page, failed=0, failing=False)
            for key, page in stored
            if key.level
        }
        return batch.state, batch.failed, leaves, above

    assert played(bulk=True) == played(bulk=False)


def test_pages_with_failures_are_written_fifty_to_a_count_unless_they_are_moved_meanwhile(tracker):
    batch_id, group = opened(tracker, 4 * 101)
    count, counted = tracker.store.replace_pages, []

    def others_first(leaves, expires_at):
        fail(tracker, batch_id, group, 0)
        counted.append(count(leaves, expires_at))
        return counted[-1]

    tracker.store.replace_pages = others_first
    results = put(tracker, batch_id, range(1, 4 * 100, 4), range(0, 4 * 100, 2))

    assert counted == [False, True]
    assert tracker.get("t", batch_id).failed == 200
    assert (sum(page[2] for page in results), sum(page[3] for page in results)) == (299, 199)


def test_each_item_has_its_verdict(tracker):
    batch_id, _ = opened(tracker, 8)
    put(tracker, batch_id, [0], [1, 2])

    accepted, duplicate = Verdict.ACCEPTED, Verdict.DUPLICATE
    assert put(tracker, batch_id, [0, 1, 3, 4], [2, 5]) == [
        (0, {accepted: 2, duplicate: 2}, 1, 0, 1),
        (1, {accepted: 2}, 2, 1, 0),
    ]
    assert tracker.get("t", batch_id).failed == 2


def test_acked_again_all_is_duplicate_and_nothing_is_written(tracker):
    batch_id, _ = opened(tracker, 30)
    put(tracker, batch_id, range(25), [25, 26])
    tracker.store.reset()

    again = put(tracker, batch_id, range(25), [25, 26])

    assert sum((Counter(counts) for _, counts, *_ in again), Counter()) == {Verdict.DUPLICATE: 27}
    assert [page[2:] for page in again] == [(0, 0, 0)] * 7
    assert not any(tracker.store.calls[name] for name in ("replace_bits", "add_bits", "transition"))


@pytest.mark.parametrize("place", [3, 4, 400])
def test_a_bit_that_is_no_item_is_refused_before_anything_is_written(tracker, place):
    batch_id, _ = opened(tracker, 3)

    with pytest.raises(InvalidRequest, match="beyond the batch's 3"):
        put(tracker, batch_id, [0, place])
    assert tracker.store.stored_pages == {}


def test_an_estimated_batch_takes_no_folded_acks(tracker):
    batch_id, _ = opened(tracker, 3, mode=Mode.ESTIMATED)

    with pytest.raises(Conflict):
        put(tracker, batch_id, [0])


def test_a_batch_that_is_over_takes_nothing_and_answers_what_was_acked_before_as_duplicate(tracker, clock):
    batch_id, _ = opened(tracker, 8)
    put(tracker, batch_id, [0])
    tracker.cancel("t", batch_id)

    assert put(tracker, batch_id, [0, 1]) == [(0, {Verdict.DUPLICATE: 1, Verdict.CANCELLED: 1}, 0, 0, 0)]
    clock.at += timedelta(days=8)
    assert put(tracker, batch_id, [0, 1]) == [(0, {Verdict.EXPIRED: 2}, 0, 0, 0)]


def test_reasons_are_kept_of_items_that_are_stored_as_failed(tracker):
    batch_id, group = opened(tracker, 8)
    put(tracker, batch_id, [0, 1], [2])
    failures = [Ack(batch_id, group, i, i, "bulk", Outcome.FAILURE, f"reason {i}") for i in (1, 2, 3, 9)]
    tracker.keep_reasons("t", failures)
    tracker.keep_reasons("t", failures)

    kept = tracker.samples(tracker.get("t", batch_id))
    assert [(sample.item_id, sample.reason) for sample in kept] == [(f"{batch_id}:{group}:2", "reason 2")]


@pytest.mark.parametrize("seen", [Page(), Page(bits=1, n=1, failed=1)])
def test_a_page_of_failures_is_written_by_an_expression_that_fits(seen):
    mask, key = mask_of(1, 1023), PageKey(BatchKey("t", "b"), 0, 0)
    page = requests.replace_bits("pages", key, seen, PageMasks(failure=mask), START)
    request = requests.with_failures("batches", key.batch, [page], mask.bit_count())
    update = request["TransactItems"][0]["Update"]

    assert len(update["UpdateExpression"]) <= 4096
    assert len(update["ExpressionAttributeValues"]) <= 64 + 3
