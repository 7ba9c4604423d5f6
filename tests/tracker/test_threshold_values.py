"""Thresholds, pages and the tree over them as values, at their bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.tracker import Outcome, State
from fanin.tracker.rules import thresholds as at_times
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.page import Page, PageMasks
from tests.tracker.calls import HOUR, START
from tests.tracker.stored import ASKS, BATCH, MINUTE, SECOND, STUCK, TICK


def test_the_next_check_of_thresholds():
    later = START + HOUR

    assert at_times.next_threshold_check(BATCH, True, later) is None
    assert at_times.next_threshold_check(ASKS, True, later) == later + 30 * SECOND
    assert at_times.next_threshold_check(ASKS, False, later) == later + 30 * SECOND
    percent = replace(ASKS, reported=frozenset({"first_failure"}))
    assert at_times.next_threshold_check(percent, False, later) is None
    assert at_times.next_threshold_check(percent, True, later) == later + 30 * SECOND
    done = replace(percent, reported=percent.reported | {"50", "90"})
    assert at_times.next_threshold_check(done, True, later) is None
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


FULL = Page(bits=0b1111, n=4, compacted=True)


@pytest.mark.parametrize(
    ("masks", "page", "need"),
    [
        (PageMasks(0b1), FULL, False),
        (PageMasks(0b1), replace(FULL, root=True), True),
        (PageMasks(0b1), replace(FULL, compacted=False), True),
        (PageMasks(0b1), replace(FULL, failed=0b1), True),
        (PageMasks(0b1), replace(FULL, failed=0b10), False),
        (PageMasks(0, 0b1), replace(FULL, failed=0b1), False),
        (PageMasks(0b1), Page(), True),
    ],
)
def test_a_page_that_has_climbed_needs_no_write_but_for_what_it_lacks(masks, page, need):
    assert masks.need_write(page) is need


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
