"""Thresholds of live batches: each is reported once, when it is reached; other batches pay nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import StoreUnavailable
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.options import Threshold
from fanin.tracker.rules.page import Page
from fanin.tracker.writing.sweeping import reached_by
from tests.tracker.calls import HOUR, START, Clock, ack, fail, opened
from tests.tracker.metered import Metered
from tests.tracker.stored import ASKS, BATCH, MINUTE, SECOND, STUCK, TICK


class Silent(Metered):
    """Loses the answers of reports while *silent*."""

    silent = False

    def report(self, seen, reached):
        done = super().report(seen, reached)
        if self.silent:
            raise StoreUnavailable("the answer was lost")
        return done


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tracker(clock):
    return Tracker(Silent(), page_bits=4, now=clock, fresh_for=timedelta(0), pause=lambda _: None)


def marks(tracker):
    return [mark for _, mark in tracker.store.reports]


def swept(tracker, clock, count=1, every=MINUTE):
    """The marks after *count* sweeps, one each minute."""
    for _ in range(count):
        clock.at += every
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

    assert tracker.store.calls["record_ack"] == tracker.store.calls["get"] == 0
    assert tracker.store.calls["pages"] == tracker.store.calls["report"] == 0


def test_a_stall_is_looked_for_when_it_can_be_and_acks_are_recorded_a_few_times(tracker, clock):
    batch, group = opened(tracker, 2000, stuck_after=HOUR)
    tracker.store.reset()
    for index in range(720):
        clock.at += 10 * SECOND
        ack(tracker, batch, group, index)
        if index % 6 == 5:
            tracker.sweep()

    calls = tracker.store.calls
    assert calls["record_ack"] <= 16
    assert calls["postpone"] <= 3
    assert marks(tracker) == []


@pytest.mark.parametrize("opened_at", [2, 30, 59])
@pytest.mark.parametrize("failed_after", [1, 45, 62, 100, 119])
def test_a_report_is_at_most_a_minute_late(tracker, clock, monkeypatch, opened_at, failed_after):
    """A sweep starts each minute, and needs a second until it comes to the batch."""
    due = tracker.store.due

    def slowly(*args):
        found = list(due(*args))
        clock.at += SECOND if found else timedelta(0)
        return found

    monkeypatch.setattr(tracker.store, "due", slowly)
    clock.at += opened_at * SECOND
    batch, group = opened(tracker, 4, notify_at=["firstFailure"])
    failed_at = clock.at + failed_after * SECOND
    for minute in range(1, 6):
        start = START + minute * MINUTE
        if clock.at <= failed_at <= start:
            clock.at = failed_at
            fail(tracker, batch, group, 0)
        clock.at = start
        tracker.sweep()
    ((reached),) = tracker.store.reports.values()

    assert reached.at - failed_at <= MINUTE + SECOND


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
