"""How many pages a map reads, and what it shows where some of them stand for others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.tracker.reads.mapping import mapped
from tests.tracker.page_store import PageStore, filled, masked
from tests.tracker.stored import BATCH

LEAF = 1024
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
