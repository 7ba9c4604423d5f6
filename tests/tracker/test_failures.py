"""What failed: counted, listed, sampled and healed; enough of it ends a batch."""

from __future__ import annotations

import pytest

from fanin.tracker import Ack, Outcome, PageMasks, Progress, State, Tracker, Verdict
from fanin.tracker.dynamodb import requests
from fanin.tracker.memory import MemoryStore
from tests.tracker.calls import START, ack, fail, opened, verdicts


def test_enough_failures_end_the_batch_early_and_later_acks_are_late(tracker):
    batch_id, group = opened(tracker, 20, max_failures=3)
    ack(tracker, batch_id, group, 0)
    assert not fail(tracker, batch_id, group, 1, 2).completions
    report = fail(tracker, batch_id, group, 3, caller="third")
    batch = tracker.get("t", batch_id)

    assert not report.completions
    assert (batch.state, batch.result) == (State.FAILED, "too_many_failures")
    assert (batch.ended_at, batch.completed_at, batch.completed_by) == (START, None, None)
    assert verdicts(ack(tracker, batch_id, group, 0, 7)) == ["duplicate", "late"]
    assert verdicts(fail(tracker, batch_id, group, 8)) == ["late"]
    assert tracker.progress(batch) == Progress(4, 3, 4, 4, exact=True)


@pytest.mark.parametrize("page_bits", [4, 1024])
def test_the_reason_of_a_healed_item_is_not_shown_whatever_has_become_of_its_page(page_bits, clock):
    tracker = Tracker(MemoryStore(), page_bits=page_bits, now=clock, pause=lambda _: None)
    batch_id, group = opened(tracker, 12)
    fail(tracker, batch_id, group, 1, 2, 5, 11)
    ack(tracker, batch_id, group, 0, 1, 3, 5)
    shown = {s.item_id.split(":")[2] for s in tracker.samples(tracker.get("t", batch_id))}
    tracker.close("t", batch_id, "closer")
    tracker.ack("t", [Ack(batch_id, group, 3, 11, "me")])
    tracker.ack("t", [Ack(batch_id, group, 0, 11, "me", Outcome.FAILURE, "too late")])
    left = {s.item_id.split(":")[2] for s in tracker.samples(tracker.get("t", batch_id))}

    assert shown == {"2", "11"}
    assert left == {"2"}


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
        assert [done.caller for done in tracker.ack("t", request).completions] == ["last"]


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


def test_a_batch_whose_items_are_all_acked_is_complete_however_many_failed(tracker):
    batch_id, group = opened(tracker, 10, max_failure_percent=20)
    fail(tracker, batch_id, group, *range(10))
    batch = tracker.close("t", batch_id, "closer").batch

    assert (batch.state, batch.result) == (State.COMPLETE, "completed_with_failures")


def one_outstanding(tracker, **options):
    """A closed batch of three pages: item 8 has failed, item 0 is outstanding, all others are done."""
    batch_id, group = opened(tracker, 12, **options)
    tracker.close("t", batch_id, "closer")
    fail(tracker, batch_id, group, 8)
    ack(tracker, batch_id, group, *(item for item in range(12) if item not in (0, 8)))
    return batch_id, group


def test_folded_acks_heal_first(tracker):
    batch_id, _ = one_outstanding(tracker)
    done = tracker.ack_pages("t", batch_id, {0: PageMasks(0b1), 2: PageMasks(0b1)}, "bulk")

    assert [(page.written, page.healed) for page in done] == [(1, 0), (0, 1)]
    assert tracker.get("t", batch_id).result == "succeeded"


def test_the_ends_of_two_children_in_one_request_heal_the_parent_first(tracker):
    """The second child of item 8, which its first one failed, succeeds beside the child of the last item."""
    parent, group = one_outstanding(tracker)
    children = [opened(tracker, 1, parent_item_id=f"{parent}:{group}:{item}") for item in (0, 8)]
    for child, _ in children:
        tracker.close("t", child, "closer")
    tracker.ack("t", [Ack(child, items, 0, 0, "me") for child, items in children])

    assert tracker.get("t", parent).result == "succeeded"
