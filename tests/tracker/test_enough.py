"""Enough items have succeeded: the batch ends as complete, once, never early, and says what was reached."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import BatchEnded, StoreUnavailable
from fanin.tracker import Progress, State, Tracker
from fanin.tracker.batch_changes.climb import Climber
from fanin.tracker.batch_changes.reopening import ReopenBatch, ReopenItems
from fanin.tracker.memory import MemoryStore
from tests.tracker.calls import ack, fail, opened, verdicts
from tests.tracker.stored import BATCH, MINUTE


def end_of(tracker, batch_id):
    batch = tracker.get("t", batch_id)
    return batch.state, batch.result, batch.reached


@pytest.mark.parametrize("closes", [False, True])
def test_the_ack_that_reaches_the_number_ends_a_batch_of_one_page_and_later_acks_are_late(tracker, closes):
    batch_id, group = opened(tracker, 4, min_succeeded=2)
    if closes:
        tracker.close("t", batch_id, "closer")
    fail(tracker, batch_id, group, 3)
    ack(tracker, batch_id, group, 0)
    assert tracker.get("t", batch_id).is_alive
    report = ack(tracker, batch_id, group, 1, caller="second")

    assert [completion.caller for completion in report.completions] == ["second"]
    assert end_of(tracker, batch_id) == (State.COMPLETE, "enough", 2)
    assert verdicts(ack(tracker, batch_id, group, 2, 1)) == ["late", "duplicate"]
    assert verdicts(fail(tracker, batch_id, group, 2)) == ["late"]
    assert tracker.progress(tracker.get("t", batch_id)) == Progress(3, 1, 3, 3, exact=True)
    assert end_of(tracker, batch_id) == (State.COMPLETE, "enough", 2)


def test_a_healed_item_has_succeeded(tracker):
    batch_id, group = opened(tracker, 4, min_succeeded=2)
    fail(tracker, batch_id, group, 0, 1)
    ack(tracker, batch_id, group, 0)
    assert tracker.get("t", batch_id).is_alive
    ack(tracker, batch_id, group, 1)

    assert end_of(tracker, batch_id) == (State.COMPLETE, "enough", 2)


def test_a_percentage_is_one_of_the_final_total_and_the_close_counts_what_was_acked_before(tracker):
    batch_id, group = opened(tracker, 1, min_succeeded_percent=50)
    ack(tracker, batch_id, group, 0)
    assert tracker.get("t", batch_id).is_alive
    last = tracker.add("t", batch_id, 2).groups[0].id
    tracker.close("t", batch_id, "closer")
    assert tracker.get("t", batch_id).is_alive
    ack(tracker, batch_id, last, 0)
    assert end_of(tracker, batch_id) == (State.COMPLETE, "enough", 2)

    batch_id, group = opened(tracker, 3, min_succeeded_percent=34)
    ack(tracker, batch_id, group, 0, 1)
    closed = tracker.close("t", batch_id, "closer")
    assert (closed.completed_by_caller, closed.batch.result, closed.batch.reached) == (True, "enough", 2)


def test_an_ack_reads_whether_a_batch_that_it_knows_as_open_was_closed(clock):
    store = MemoryStore()
    tracker, other = (Tracker(store, page_bits=4, now=clock, fresh_for=MINUTE) for _ in range(2))
    batch_id, group = opened(tracker, 4, min_succeeded_percent=50)
    ack(tracker, batch_id, group, 0)
    other.close("t", batch_id, "closer")
    ack(tracker, batch_id, group, 1)

    assert store.get(tracker.get("t", batch_id).key).result == "enough"


def test_a_batch_of_which_all_is_acked_is_complete_whatever_was_enough(tracker):
    batch_id, group = opened(tracker, 3, min_succeeded=2)
    tracker.close("t", batch_id, "closer")
    fail(tracker, batch_id, group, 0)
    ack(tracker, batch_id, group, 1, 2)

    assert end_of(tracker, batch_id) == (State.COMPLETE, "completed_with_failures", None)


@pytest.mark.parametrize("mode", ["exact", "estimated"])
def test_the_sweep_counts_the_pages_of_a_larger_batch_and_takes_no_failure_for_a_success(
    tracker, clock, mode
):
    batch_id, group = opened(tracker, 40, min_succeeded=10, mode=mode)
    ack(tracker, batch_id, group, *range(0, 36, 4))
    fail(tracker, batch_id, group, 1)
    clock.at += MINUTE
    tracker.sweep()
    assert tracker.get("t", batch_id).is_alive
    ack(tracker, batch_id, group, 37, 38)
    assert tracker.get("t", batch_id).is_alive
    clock.at += MINUTE
    tracker.sweep()

    assert end_of(tracker, batch_id) == (State.COMPLETE, "enough", 11)


def test_an_end_that_a_crash_cut_short_is_found_by_the_same_ack_and_by_the_sweep(clock):
    class Crashing(MemoryStore):
        def transition(self, key, change):
            if change.reached is not None and self.crashes:
                raise StoreUnavailable("the process crashed")
            return super().transition(key, change)

    tracker = Tracker(Crashing(), page_bits=4, now=clock, fresh_for=timedelta(0), pause=lambda _: None)
    for repair in (lambda *named: ack(tracker, *named, 0), lambda *_: tracker.sweep()):
        batch_id, group = opened(tracker, 4, min_succeeded=1)
        tracker.store.crashes = True
        with pytest.raises(StoreUnavailable):
            ack(tracker, batch_id, group, 0)
        tracker.store.crashes = False
        clock.at += MINUTE
        repair(batch_id, group)

        assert end_of(tracker, batch_id) == (State.COMPLETE, "enough", 1)


def test_an_ended_batch_takes_no_items_and_the_refusal_names_enough(tracker):
    batch_id, _ = opened(tracker, min_succeeded=1)
    group = tracker.add("t", batch_id, 2, key="first").groups[0].id
    ack(tracker, batch_id, group, 0)

    for key in ("first", "second"):
        with pytest.raises(BatchEnded, match=r"COMPLETE \(enough\)"):
            tracker.add("t", batch_id, 2, key=key)
    assert tracker.close("t", batch_id, "closer").batch.result == "enough"


def test_what_was_not_done_is_listed_and_can_be_reopened_without_the_number(tracker):
    batch_id, group = opened(tracker, 4, min_succeeded=2, max_items=4)
    tracker.close("t", batch_id, "closer")
    ack(tracker, batch_id, group, 1, 2)
    outstanding = tracker.outstanding(tracker.get("t", batch_id)).ranges
    again = tracker.reopen("t", ReopenBatch(origin_batch_id=batch_id, items=ReopenItems.UNFINISHED), "me")

    assert [(each.first, each.last) for each in outstanding] == [(0, 0), (3, 3)]
    assert (again.state, again.total, again.min_succeeded, again.max_items) == (State.CLOSED, 2, None, None)


def test_a_child_with_enough_has_done_the_item_of_its_parent(tracker):
    parent, items = opened(tracker, 1)
    tracker.close("t", parent, "closer")
    child, group = opened(tracker, 2, min_succeeded=1, parent_item_id=f"{parent}:{items}:0")
    ack(tracker, child, group, 0)

    assert tracker.get("t", parent).result == "succeeded"


@pytest.mark.parametrize(("failures", "ends"), [(1, False), (2, True)])
def test_failures_are_a_part_of_the_acked_items_from_a_sample_on_while_the_batch_is_open(
    tracker, clock, failures, ends
):
    batch_id, group = opened(tracker, 40, max_failure_percent=20, failure_sample=10)
    fail(tracker, batch_id, group, *range(failures))
    ack(tracker, batch_id, group, *range(2, 9))
    clock.at += MINUTE
    tracker.sweep()
    assert tracker.get("t", batch_id).is_alive
    ack(tracker, batch_id, group, *range(20, 23 - failures))
    clock.at += MINUTE
    tracker.sweep()

    assert (end_of(tracker, batch_id)[1] == "too_many_failures") is ends


def test_pages_that_are_not_read_count_as_acked_for_failures_and_as_not_acked_for_successes(
    tracker, clock, monkeypatch
):
    for module in (
        "fanin.tracker.reads.progress.PAGES_A_LEVEL",
        "fanin.tracker.batch_changes.sweeping.PAGES_A_COUNT",
    ):
        monkeypatch.setattr(module, 1)
    batch_id, group = opened(tracker, 16, min_succeeded=6, max_failure_percent=40, failure_sample=1)
    fail(tracker, batch_id, group, 0, 4, 8, 12)
    ack(tracker, batch_id, group, 1, 5, 9, 13)
    clock.at += MINUTE
    tracker.sweep()
    assert tracker.get("t", batch_id).is_alive


def test_a_batch_whose_row_is_deleted_before_its_successes_end_it_is_not_ended(clock):
    batch = replace(BATCH, min_succeeded=1)

    assert Climber(MemoryStore(), clock).end_by_successes(batch, 1, "me") is None
