"""Which requests write a page: one that guards its digits where they fit, one that replaces the page else."""

from __future__ import annotations

import pytest

from fanin.tracker import Ack, OpenBatch, Outcome, PageMasks, Tracker
from fanin.tracker.rules.options import Mode
from fanin.tracker.rules.page import DIGIT_BITS, Page
from fanin.tracker.writing.climb import BitsSet, Climber
from tests.tracker.calls import ack, opened
from tests.tracker.test_folded import CountingStore


@pytest.fixture
def tracker(clock):
    return Tracker(CountingStore(), now=clock, pause=lambda _: None)


def sent(tracker, act):
    """Return how many requests for pages *act* sends, by their names."""
    tracker.store.seen.clear()
    act()
    return {name: count for name, count in tracker.store.seen.items() if name not in {"get", "transition"}}


@pytest.mark.parametrize(
    ("count", "requests"), [(20, {"add_bits": 1}), (21, {"pages": 1, "replace_bits": 1})]
)
def test_a_page_is_read_before_more_than_twenty_of_its_digits_are_written(tracker, count, requests):
    batch_id, group = opened(tracker, 1024)
    items = range(0, count * DIGIT_BITS, DIGIT_BITS)

    assert sent(tracker, lambda: ack(tracker, batch_id, group, *items)) == requests


def test_two_outcomes_replace_the_page_that_was_read(tracker):
    batch_id, _ = opened(tracker, 1024)
    pages = {0: PageMasks(success=0b01, failure=0b10)}

    assert sent(tracker, lambda: tracker.ack_pages("t", batch_id, pages, "me")) == {
        "pages": 1,
        "replace_bits": 1,
    }


@pytest.mark.parametrize(("count", "heals"), [(125, 1), (126, 2)])
def test_125_digits_of_five_failed_items_fit_into_the_guards_of_one_heal(tracker, count, heals):
    batch_id, group = opened(tracker, 1024)
    firsts = range(0, count * DIGIT_BITS, DIGIT_BITS)
    failed, healed = (
        [Ack(batch_id, group, first, first + 4, "me", outcome) for first in firsts]
        for outcome in (Outcome.FAILURE, Outcome.SUCCESS)
    )
    tracker.ack("t", failed)

    assert sent(tracker, lambda: tracker.ack("t", healed))["heal_bits"] == heals
    assert tracker.get("t", batch_id).failed == 0


def test_a_write_of_no_items_sends_none(tracker, clock):
    batch = tracker.open("t", OpenBatch())
    climber = Climber(tracker.store, clock)

    assert sent(tracker, lambda: climber.mark(batch, 0, PageMasks())) == {}
    assert climber.mark(batch, 0, PageMasks()) == BitsSet(0, Page(), healed=0)


def test_a_count_of_acks_heals_nothing(tracker, clock):
    batch = tracker.open("t", OpenBatch(mode=Mode.ESTIMATED))
    counted = Climber(tracker.store, clock).count(batch, 0, 3, Outcome.SUCCESS)

    assert counted == BitsSet(1, Page(n=3), healed=0)
