"""Thresholds of live batches: each is reported once, when it is reached; other batches pay nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.settings.tracking import Tables
from fanin.tracker import Outcome, State
from fanin.tracker.batch_changes.sweeping import reached_by
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.dynamodb.thresholds import NOTICE, notice_item, reached_of
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules import thresholds as at_times
from fanin.tracker.rules.model import PageKey, Progress
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.page import Page, PageMasks
from fanin.tracker.rules.thresholds import Reached
from tests.contract import engines
from tests.contract.tables import TABLES, create_tables
from tests.tracker.calls import HOUR, START, ack, opened
from tests.tracker.stored import ASKS, BATCH, MINUTE, SECOND, STUCK, TICK


def marks(tracker):
    return [mark for _, mark in tracker.store.reports]


def swept(tracker, clock, count):
    """The marks after *count* sweeps, one each minute."""
    for _ in range(count):
        clock.at += MINUTE
        tracker.sweep()
    return marks(tracker)


def test_an_ack_that_is_a_duplicate_and_folded_acks_are_acks_and_an_add_is_none(tracker, clock):
    batch, group = opened(tracker, 9, stuck_after=8 * MINUTE)
    for _ in range(7):
        assert swept(tracker, clock, 5) == []
        ack(tracker, batch, group, 0)
    for _ in range(3):
        swept(tracker, clock, 5)
        tracker.add("t", batch, 1)

    assert marks(tracker) == ["stuck:1"]


def test_a_batch_that_asks_for_nothing_costs_nothing(tracker, clock):
    batch, group = opened(tracker, 9)
    ack(tracker, batch, group, *range(5))
    tracker.close("t", batch, "c")
    tracker.store.reset()
    swept(tracker, clock, 14)

    assert tracker.store.calls["record_ack_time"] == tracker.store.calls["get"] == 0
    assert tracker.store.calls["pages"] == tracker.store.calls["report"] == 0


@pytest.mark.parametrize("batch", [BATCH, STUCK, ASKS])
def test_a_batch_that_reached_no_threshold_has_an_empty_list(batch):
    assert reached_by(MemoryStore(), batch, START + 9 * MINUTE - TICK) == []


@pytest.mark.parametrize("stalls", [0, 2])
def test_a_stall_has_the_next_number_and_other_thresholds_have_none(stalls):
    store = MemoryStore()
    store.stored_pages = {PageKey(ASKS.key, 0, number): Page(0b1111, 4) for number in range(2)}
    store.stored_pages[PageKey(ASKS.key, 1, 0)] = Page(0b11, 2)
    batch = replace(ASKS, failed=1, stuck_after=8 * MINUTE, stalls=stalls)
    found = reached_by(store, batch, START + 9 * MINUTE)

    assert [(each.threshold, each.stall) for each in found] == [
        (Threshold.FIRST_FAILURE, 0),
        (Threshold.STUCK, stalls + 1),
        (Threshold.HALF, 0),
    ]


def test_the_next_check_of_thresholds():
    later = START + HOUR

    assert at_times.next_threshold_check(BATCH, True, later) is None
    assert at_times.next_threshold_check(ASKS, True, later) == later + 30 * SECOND
    assert at_times.next_threshold_check(ASKS, False, later) == later + 30 * SECOND
    percent = replace(ASKS, reported=frozenset({"first_failure"}))
    assert at_times.next_threshold_check(percent, False, later) is None
    assert at_times.next_threshold_check(percent, True, later) == later + 30 * SECOND
    reported = replace(percent, reported=percent.reported | {"50", "90"})
    assert at_times.next_threshold_check(reported, True, later) is None
    assert at_times.next_threshold_check(STUCK, True, later) == START + 9 * MINUTE
    both = replace(ASKS, stuck_after=8 * MINUTE)
    assert at_times.next_threshold_check(both, True, later) == START + 9 * MINUTE
    assert at_times.next_threshold_check(both, True, START) == START + 30 * SECOND
    assert at_times.next_threshold_check(both, True, START, wait=timedelta(0)) == START
    assert at_times.next_threshold_check(replace(STUCK, acked_at=later), True, later) == later + 9 * MINUTE
    assert at_times.next_threshold_check(replace(STUCK, stalled_at=START), True, later) == later + 9 * MINUTE


@pytest.mark.parametrize("quiet", [{}, {"acked_at": START}, {"acked_at": START, "stalled_at": START - HOUR}])
def test_a_batch_is_stalled_nine_eighths_of_its_time_after_its_last_ack(quiet):
    batch = replace(STUCK, **quiet)

    assert not at_times.stalled(batch, START + 9 * MINUTE - TICK)
    assert at_times.stalled(batch, START + 9 * MINUTE)
    assert at_times.stalled(replace(batch, stalled_at=START), START + HOUR) is False
    assert not at_times.stalled(replace(batch, stuck_after=None), START + HOUR)


def test_a_batch_that_has_ended_is_not_stalled():
    batch = replace(STUCK, acked_at=START, stalled_at=START)

    assert batch.is_stalled
    assert not replace(batch, state=State.COMPLETE).is_stalled


def test_an_ack_counts_from_an_eighth_of_the_time_on():
    assert not at_times.counts_as_ack(STUCK, START + MINUTE - TICK)
    assert at_times.counts_as_ack(STUCK, START + MINUTE)
    assert not at_times.counts_as_ack(replace(STUCK, acked_at=START + HOUR), START + HOUR)
    assert not at_times.counts_as_ack(replace(STUCK, state=State.FAILED), START + HOUR)
    assert at_times.counts_as_ack(BATCH, START + HOUR) is False


@pytest.mark.parametrize(
    ("facts", "has"),
    [
        ({}, False),
        ({"failed": 1}, True),
        ({"healed": 1}, True),
        ({"failed": 1, "reported": frozenset({"first_failure"})}, False),
        ({"failed": 1, "notify_at": (Threshold.HALF,)}, False),
    ],
)
def test_the_first_failure_is_one_that_was_asked_for(facts, has):
    assert at_times.has_failed(replace(ASKS, **facts)) is has


def test_a_percentage_is_passed_at_its_share_of_the_total():
    assert [at_times.passed(BATCH, acked, Threshold.HALF) for acked in (4, 5, 6)] == [False, True, True]
    assert [at_times.passed(BATCH, acked, Threshold.MOST) for acked in (8, 9)] == [False, True]
    large = replace(BATCH, total=1000)
    assert [at_times.passed(large, acked, Threshold.HALF) for acked in (499, 500)] == [False, True]
    assert [at_times.passed(large, acked, Threshold.MOST) for acked in (899, 900)] == [False, True]
    assert at_times.percentages_left(replace(ASKS, reported=frozenset({"50"}))) == (Threshold.MOST,)


def test_the_masks_of_a_write():
    both = PageMasks(0b0011, 0b0110)

    assert PageMasks.of(0b101, Outcome.SUCCESS) == PageMasks(0b101, 0)
    assert PageMasks.of(0b101, Outcome.FAILURE) == PageMasks(0, 0b101)
    assert (both.mask, both.failed, both.is_mixed) == (0b0111, 0b0100, True)
    assert both.within(0b0010) == PageMasks(0b10, 0b10)
    assert not PageMasks(0b11, 0b01).is_mixed
    assert not PageMasks(0, 0b01).is_mixed
    assert not PageMasks().is_mixed


@pytest.mark.parametrize(
    ("page", "outstanding", "failures"),
    [
        (Page(0b00), True, True),
        (Page(0b10), False, False),
        (Page(0b10, failed=0b10), False, True),
        (Page(0b11, failed=0b01), False, False),
        (Page(0b100), True, True),
        (Page(0b110, failed=0b100), False, False),
        (Page(compacted=True), False, False),
        (Page(compacted=True, failed=0b10), False, True),
    ],
)
def test_a_child_is_worth_a_visit_if_it_may_hold_what_is_looked_for(page, outstanding, failures):
    assert page.is_worth(1, False) is outstanding
    assert page.is_worth(1, True) is failures


PROGRESS = Progress(acked=5, failed=1, estimate=6, upper_bound=9, exact=False)
EXACT = Progress(acked=7, failed=2, estimate=7, upper_bound=7, exact=True)
FOUND = [
    Reached(Threshold.MOST, START + 1_001_000 * TICK, PROGRESS, 10),
    Reached(Threshold.STUCK, START, EXACT, 2**36, 3),
]


@pytest.mark.parametrize("reached", FOUND)
def test_a_notice_is_read_as_it_was_reported(reached):
    assert reached_of(notice_item(BATCH, reached)) == reached


def test_a_report_puts_its_notice():
    with engines.emptied():
        store = DynamoStore(engines.client(create_tables), Tables(*TABLES))
        store.create(BATCH)
        assert store.report(BATCH, FOUND[0])
        key = {"pk": {"S": str(BATCH.key)}, "sk": {"S": f"{NOTICE}90"}}
        row = store.client.get_item(TableName=store.tables.batches, Key=key, ConsistentRead=True)["Item"]

    assert row == notice_item(BATCH, FOUND[0])


def test_a_stall_whose_notice_is_deleted_by_time_to_live_is_not_reported_again():
    with engines.emptied():
        store = DynamoStore(engines.client(create_tables), Tables(*TABLES))
        store.create(BATCH)
        store.report(BATCH, replace(FOUND[1], stall=1))
        seen = store.record_ack_time(BATCH.key, START)
        second = replace(FOUND[1], stall=2)
        assert store.report(seen, second)
        key = {name: notice_item(BATCH, second)[name] for name in ("pk", "sk")}
        store.client.delete_item(TableName=store.tables.batches, Key=key)

        assert not store.report(seen, second)
        assert store.get(BATCH.key).stalls == 2
