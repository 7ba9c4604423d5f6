"""Which pages a map reads, and which of them for their failures alone or for others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.tracker import Ack, OpenBatch, Outcome, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.reads.mapping import mapped
from tests.tracker.page_store import PageStore, filled, masked
from tests.tracker.stored import BATCH

LEAF = 1024
SMALL = replace(BATCH, total=64)
FAILED = replace(SMALL, failed=1)


def marked(first, count):
    """The parents of leaves of which *count*, from *first* on, are full and had failures."""
    bits = ((1 << count) - 1) << first
    parts = [bits >> at * LEAF & (1 << LEAF) - 1 for at in range(2)]
    return {(1, at): masked(part, failed=part) for at, part in enumerate(parts)}


@pytest.mark.parametrize(
    ("marks", "before", "start", "flagged"),
    [
        (1025, 0, 0, False),
        (1026, 0, 0, True),
        (1024, 1, 0, False),
        (1025, 1, 0, True),
        (1024, 1, 1, False),
        (1025, 1, 1, True),
    ],
)
def test_marked_pages_are_read_for_failures_unless_they_are_more_than_are_left(marks, before, start, flagged):
    """The failures were healed. One cell has 1,025 pages of a level; a leaf inside it, or cut, is one."""
    store = PageStore(marked(before, marks))
    batch = replace(BATCH, page_bits=LEAF, total=(marks + before) * LEAF, failed=1)

    assert mapped(store, batch, 1, start).failed == (flagged,)
    assert len(store.numbers(0)) == (before if flagged else before + marks)


CUT_LEAF = {
    "not full": (FAILED, 0b1100, 0, [5]),
    "full": (FAILED, 0b1110, 0, []),
    "full and marked": (FAILED, 0b1110, 0b0010, [5]),
    "full, and the next one is marked": (FAILED, 0b1110, 0b0100, [6]),
    "full and marked, in a batch without failures": (SMALL, 0b1110, 0b0010, []),
}


@pytest.mark.parametrize("name", CUT_LEAF)
def test_a_leaf_that_the_window_cuts_is_read_if_it_is_not_full_or_may_have_failures(name):
    """Leaf 5 is cut, with two items in the window, and the leaves after it are full."""
    batch, bits, failed, read = CUT_LEAF[name]
    full = {(0, number): filled(4, failed=0b1000) for number in (5, 6)}
    store = PageStore({(2, 0): masked(0b1100), (1, 1): masked(bits, failed)} | full)
    found = mapped(store, batch, 1, 22)

    assert (store.numbers(0), found.acked, found.exact) == (read, (42,), True)
    assert found.failed == (bool(read),)


STALE = {
    "a leaf inside a cell": {(0, 1): filled(1, failed=1)},
    "a leaf that the window cuts": {(0, 0): filled(3, failed=0b110)},
    "a short leaf": {(0, 4): filled(1, failed=1)},
    "a full leaf": {(0, 2): filled(4, failed=1), (1, 0): masked(0b100, failed=0b100)},
}


@pytest.mark.parametrize("name", STALE)
def test_failures_after_the_row_of_the_batch_was_read_are_in_no_map(name):
    batch = replace(BATCH, total=18)

    assert mapped(PageStore(STALE[name]), replace(batch, failed=1), 1, 1).failed == (True,)
    assert mapped(PageStore(STALE[name]), batch, 1, 1).failed == (False,)


@pytest.mark.parametrize(("cells", "failed"), [(1, (True,)), (4, (True, False, False))])
def test_failures_of_items_added_after_the_batch_was_read_are_not_in_its_map(cells, failed):
    """Their leaf has no item of the total, and its parent, full and marked, has one that is in it."""
    tracker = Tracker(MemoryStore(), page_bits=2, fresh_for=timedelta(0))
    batch = tracker.open("tenant", OpenBatch())
    first = tracker.add("tenant", batch.batch_id, 9, "first").groups[0].id
    tracker.ack("tenant", [Ack(batch.batch_id, first, 0, 0, "ack", Outcome.FAILURE)])
    seen = tracker.get("tenant", batch.batch_id)
    added = tracker.add("tenant", batch.batch_id, 7, "added").groups[0].id
    acks = [Ack(batch.batch_id, first, 1, 8, "ack"), Ack(batch.batch_id, added, 0, 6, "ack", Outcome.FAILURE)]
    tracker.ack("tenant", acks)

    found = mapped(tracker.store, seen, cells)

    assert (sum(found.acked), found.failed) == (9, failed)


SAMPLED = 2048
"""Leaves inside the one cell of a map, twice as many as are read."""
MANY = replace(BATCH, page_bits=LEAF, total=SAMPLED * LEAF)


def leaves_of(first, last, page):
    return {(0, number): page for number in range(first, last)}


EVERY_OTHER = sum(1 << bit for bit in range(0, LEAF, 2))
SAMPLES = {
    "none acked": (0, SAMPLED, {}, 0),
    "half of each leaf": (0, SAMPLED, leaves_of(0, SAMPLED, filled(512)), 512 * SAMPLED),
    "a quarter of every other leaf, the others full": (
        0,
        2 * SAMPLED,
        leaves_of(0, 2 * SAMPLED, filled(256)) | {(1, at): masked(EVERY_OTHER) for at in range(4)},
        SAMPLED * LEAF + SAMPLED * 256,
    ),
    "a full leaf that the window cuts": (
        512,
        SAMPLED + 1,
        leaves_of(1, SAMPLED + 1, filled(512)) | {(1, 0): filled(1)},
        512 + 512 * SAMPLED,
    ),
    "a leaf that the window cuts": (
        512,
        SAMPLED + 1,
        leaves_of(1, SAMPLED + 1, filled(512)) | {(0, 0): filled(768)},
        256 + 512 * SAMPLED,
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_pages_that_are_read_stand_for_as_many_others(name):
    """What is full, or cut by the window, is counted as it is."""
    start, leaves, pages, acked = SAMPLES[name]
    store = PageStore(pages)
    found = mapped(store, replace(MANY, total=leaves * LEAF), 1, start)

    assert (found.acked, found.exact) == ((acked,), False)
    assert len(store.numbers(0)) <= 1025


@pytest.mark.parametrize("period", [2, 3, 8, 61])
def test_a_map_adds_up_to_what_is_acked_though_work_goes_round_in_a_period(period):
    """Each page of a cell of eight is one of several that are nearly done, or not begun."""
    leaves = 8 * SAMPLED
    pages = leaves_of(0, leaves, filled(0)) | {(0, at): filled(990) for at in range(0, leaves, period)}
    found = mapped(PageStore(pages), replace(MANY, total=leaves * LEAF))

    assert abs(sum(found.acked) / (leaves * LEAF) - 990 / LEAF / period) <= 0.04


def test_a_short_last_leaf_that_is_alone_under_its_parent_counts_its_own_items():
    """Its climb has reached its parent, not the root."""
    store = PageStore({(1, 1): replace(filled(1), size=1)})

    assert mapped(store, replace(BATCH, total=18), 1).acked == (2,)
