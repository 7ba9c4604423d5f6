"""The bounds of a reopen, at their last value and beyond it, and the values of the new batch."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import Conflict
from fanin.tracker import Ack, State, Tracker
from fanin.tracker.rules.page import Page
from fanin.tracker.writing.reopening import ReopenBatch, ReopenItems, check_origin
from tests.tracker.calls import HOUR, ack, fail, opened
from tests.tracker.metered import Metered
from tests.tracker.stored import BATCH, ID

UNFINISHED = ReopenItems.UNFINISHED
MOST = 2**36
ENDED = replace(BATCH, state=State.CANCELLED)
DONE = replace(BATCH, state=State.COMPLETE, total=1)
RANGES = 5_000


def of(page_bits):
    return Tracker(Metered(), page_bits=page_bits, fresh_for=timedelta(0), pause=lambda _: None)


def reopen(tracker, origin, key=None, **options):
    return tracker.reopen("t", ReopenBatch(origin_batch_id=origin, **options), "me", key)


def scattered(tracker, ranges):
    """A cancelled batch of twice as many items, every other one of which is outstanding."""
    batch_id, group = opened(tracker, 2 * ranges)
    tracker.ack("t", [Ack(batch_id, group, at, at, "me") for at in range(1, 2 * ranges, 2)])
    tracker.cancel("t", batch_id)
    tracker.store.reset()
    return batch_id


def test_five_thousand_ranges_of_a_kind_are_reopened():
    tracker = of(1024)

    assert reopen(tracker, scattered(tracker, RANGES), items=UNFINISHED).total == RANGES


def test_one_range_more_is_refused_by_the_walk_that_finds_it():
    tracker = of(1024)
    origin = scattered(tracker, RANGES + 1)

    with pytest.raises(Conflict, match="too many ranges or pages"):
        reopen(tracker, origin, items=UNFINISHED)
    assert len(tracker.store.read) <= 100


def untouched(tracker, leaves):
    batch_id, _ = opened(tracker, leaves * tracker.page_bits)
    tracker.cancel("t", batch_id)
    return batch_id


@pytest.mark.parametrize("leaves", [1, 10**6])
def test_what_is_untouched_is_reopened_whatever_its_size(leaves):
    tracker = of(1024)
    reopened = reopen(tracker, untouched(tracker, leaves), items=UNFINISHED)

    assert reopened.total == leaves * 1024
    assert len(tracker.store.read) <= 4 * 1024


@pytest.mark.parametrize("count", [1, MOST])
def test_up_to_2_to_the_36_items_are_reopened(count):
    check_origin(ENDED, count, "failed")


@pytest.mark.parametrize(
    ("origin", "count", "text"),
    [
        (BATCH, 1, f"batch {ID} has not ended; wait for its end, or cancel it"),
        (replace(ENDED, total=0), 0, f"batch {ID} has no failed items; there is nothing to reopen"),
        (DONE, 0, f"batch {ID} has no failed items; there is nothing to reopen"),
        (
            replace(ENDED, total=1),
            0,
            f"batch {ID} has no failed items; to reopen what is not acked, ask for the items 'unfinished' in"
            " place of 'failed'",
        ),
        (ENDED, MOST + 1, f"{MOST + 1} items are more than one batch can reopen, which is {MOST}"),
    ],
    ids=["live", "none", "all done", "outstanding", "too many"],
)
def test_other_origins_are_refused(origin, count, text):
    with pytest.raises(Conflict) as caught:
        check_origin(origin, count, "failed")

    assert str(caught.value) == text


@pytest.mark.parametrize(("done", "is_child"), [(range(1, 1200), False), (range(1200), True)])
def test_a_batch_of_the_failed_items_has_the_parent_where_nothing_is_outstanding(tracker, done, is_child):
    parent, group = opened(tracker, 1)
    origin, items = opened(tracker, 1200, parent_item_id=f"{parent}:{group}:0")
    fail(tracker, origin, items, 1)
    ack(tracker, origin, items, *(at for at in done if at != 1))
    tracker.cancel("t", origin)

    assert (reopen(tracker, origin).parent_item_id is not None) is is_child


def test_it_has_no_parent_where_one_walk_does_not_reach_the_outstanding_items(tracker):
    """A crash left full pages that are not marked in the pages above them, so each of them is read."""
    parent, group = opened(tracker, 1)
    origin, items = opened(tracker, 1200, parent_item_id=f"{parent}:{group}:0")
    fail(tracker, origin, items, 1)
    ack(tracker, origin, items, 0, *range(2, 1199))
    tracker.cancel("t", origin)
    for key in [key for key in tracker.store.stored_pages if not key.is_leaf]:
        tracker.store.stored_pages[key] = Page()

    assert reopen(tracker, origin).parent_item_id is None


@pytest.mark.parametrize(
    ("options", "digest"),
    [
        ({}, "0aec2fede5287d76592a82c05b719731b6aa06f72acc57b85c4aa8a7ef723452"),
        (
            {"items": UNFINISHED, "labels": {"a": "b"}, "deadline": HOUR, "max_failures": 3},
            "9e5dafca50a4cc7d7aa468965f2b00724490458cbfcc91a47c6526774cca0b18",
        ),
    ],
)
def test_the_fingerprint_of_a_request_stays_the_same(options, digest):
    assert ReopenBatch(origin_batch_id=ID, **options).fingerprint == digest


def test_failed_items_of_an_origin_with_more_items_than_a_batch_reopens_can_be_reopened():
    tracker = of(1024)
    batch_id, group = opened(tracker, MOST)
    tracker.add("t", batch_id, 1, "more")
    fail(tracker, batch_id, group, 0)
    tracker.cancel("t", batch_id)

    assert reopen(tracker, batch_id).total == 1
