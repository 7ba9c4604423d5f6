"""Which pages a map reads, and which of them for their failures alone."""

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


@pytest.mark.parametrize(("total", "bare"), [(4, [(0, 0)]), (3, [])])
def test_a_leaf_that_is_a_cell_is_read_without_its_bits(total, bare):
    """Items may have been added to a short leaf since, so that its bits are read."""
    store = PageStore({(0, 0): filled(2)})

    assert mapped(store, replace(BATCH, total=total), 1).acked == (2,)
    assert (store.read, store.bare) == ([(0, 0)], bare)


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
