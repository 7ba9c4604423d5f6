"""A page's bits are set once, counted, and dropped when it is full."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.tracker import Outcome, TrackerStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page, PageMasks, mask_of
from fanin.tracker.store import Replacement, Written
from tests.contract.tracker.calls import ENDINGS, KEY, LATER, LEAF

FULL = mask_of(0, 1023)
ABOVE = PageKey(KEY, 1, 1)


def page(store: TrackerStore) -> Page:
    return store.pages([LEAF])[LEAF]


@pytest.mark.parametrize("neighbour", range(6))
def test_neighbours_in_one_digit_are_added_without_conflict(store, neighbour):
    others = 0b111111 & ~(1 << neighbour)
    store.add_bits(LEAF, PageMasks(others << 12), LATER)

    assert store.add_bits(LEAF, PageMasks(1 << 12 + neighbour), LATER).applied
    assert page(store) == Page(bits=0b111111 << 12, n=6)


def test_an_add_with_a_bit_that_is_set_changes_nothing_and_shows_the_page(store):
    store.add_bits(LEAF, PageMasks(0b10), LATER)
    written = store.add_bits(LEAF, PageMasks(0b11 | 1 << 900), LATER)

    assert not written.applied
    assert written.page == page(store) == Page(bits=0b10, n=1)


def test_a_bulk_write_sets_what_is_left_of_a_page(store):
    store.add_bits(LEAF, PageMasks(0b1), LATER)
    seen = page(store)
    written = store.replace_bits(LEAF, seen, PageMasks(FULL & ~1), LATER)

    assert written.applied
    assert written.page == page(store) == Page(bits=FULL, n=1024)


def test_leaves_that_are_not_stored_are_stored_together_and_no_other_changes(store):
    full, some, marked = (PageKey(KEY, 0, number) for number in (1, 2, 3))
    store.add_bits(LEAF, PageMasks(0b1), LATER)
    store.mark_tail(marked, 5, root=False, expires_at=LATER)
    pages = {full: Page.new(FULL, 1024), some: Page.new(FULL & ~(0b111111 << 6), 1024)}
    stored = store.pages([LEAF, marked])

    assert set(store.create_pages(pages | dict.fromkeys(stored, Page.new(FULL, 1024)), LATER)) == set(pages)
    assert not any(store.create_pages({key: page}, LATER) for key, page in pages.items())
    assert store.pages([*pages, *stored]) == pages | stored
    assert pages[full] == Page(n=1024, compacted=True)


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("failures", [0, 0b100 | 1 << 40])
@pytest.mark.parametrize("before", [0, 0b1011])
@pytest.mark.parametrize("key", [LEAF, ABOVE])
def test_a_bulk_write_that_fills_a_page_compacts_it_once(store, batch, key, before, failures, inner):
    store.create(batch)
    seen = store.add_bits(key, PageMasks(before), LATER).page if before else Page()
    remaining = PageMasks(FULL & ~before & ~failures, failures)
    compacted = Page(n=1024, failed=failures, compacted=True)

    for applied in (True, False):
        written = store.replace_bits(key, seen, remaining, LATER, True, inner)
        assert written == Written(compacted, applied)
        assert store.pages([key])[key] == compacted
        assert store.get(KEY).failed == (failures.bit_count() if key.is_leaf else 0)


@pytest.mark.parametrize("fills", [False, True])
def test_a_bulk_write_of_an_inner_page_that_has_moved_changes_nothing_and_shows_it(store, fills):
    store.add_bits(LEAF, PageMasks(0b10), LATER)
    for seen in (Page(), Page(0b111, 3)):
        written = store.replace_bits(LEAF, seen, PageMasks(FULL & ~seen.bits), LATER, fills, True)
        assert written == Written(page(store), applied=False)
    assert page(store) == Page(0b10, 1)


def test_a_bulk_write_to_a_page_that_close_has_marked_is_applied(store):
    seen = store.mark_tail(LEAF, 200, root=True, expires_at=LATER)

    assert store.replace_bits(LEAF, seen, PageMasks(mask_of(0, 199)), LATER).page == Page(
        mask_of(0, 199), 200, 200, True
    )


def test_the_last_page_gets_its_size_whether_it_is_there_or_not(store):
    assert store.mark_tail(LEAF, 5, root=False, expires_at=LATER) == Page(size=5)
    store.add_bits(LEAF, PageMasks(0b1), LATER)

    assert store.mark_tail(LEAF, 5, root=False, expires_at=LATER) == Page(1, 1, 5)


def test_a_compacted_page_has_its_count_and_no_digits_and_takes_no_write(store):
    seen = store.replace_bits(LEAF, Page(), PageMasks(FULL), LATER).page
    store.compact(LEAF, 1024)
    store.compact(LEAF, 1024)
    compacted = Page(n=1024, compacted=True)

    assert page(store) == compacted
    assert store.add_bits(LEAF, PageMasks(1), LATER) == Written(compacted, applied=False)
    assert not store.replace_bits(LEAF, seen, PageMasks(1), LATER).applied
    assert page(store) == compacted


def test_many_pages_are_read_at_once(store):
    keys = [PageKey(KEY, 0, number) for number in range(230)]
    for key in keys[::2]:
        store.add_bits(key, PageMasks(1), LATER)

    assert store.pages(keys) == {key: Page(1, 1) for key in keys[::2]}


def test_failures_are_marked_and_counted_together(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(1), LATER)

    assert store.add_bits(LEAF, PageMasks(failure=0b10 | 1 << 700), LATER).applied
    assert page(store) == Page(0b11 | 1 << 700, 3, failed=0b10 | 1 << 700)
    assert store.get(KEY).failed == 2


def test_a_failure_of_an_item_that_was_acked_changes_nothing(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(1), LATER)

    assert not store.add_bits(LEAF, PageMasks(failure=0b11), LATER).applied
    assert page(store) == Page(1, 1)
    assert store.get(KEY).failed == 0


def test_a_bulk_write_sets_failures_with_their_count(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(failure=0b01), LATER)
    store.heal_bits(LEAF, 0b01)
    marks = 0b10 | 1 << 1023
    written = store.replace_bits(LEAF, page(store), PageMasks(FULL & ~1 & ~marks, marks), LATER)

    assert written.applied
    assert written.page == page(store) == Page(FULL, 1024, failed=0b10 | 1 << 1023)
    assert store.get(KEY).failed == 2


def test_a_bulk_write_of_failures_leaves_a_healing_that_came_between(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(failure=0b001), LATER)
    seen = page(store)
    store.heal_bits(LEAF, 0b001)

    assert store.replace_bits(LEAF, seen, PageMasks(0b100, 0b010), LATER).applied
    assert page(store) == Page(0b111, 3, failed=0b010)
    assert store.get(KEY).failed == 1


def test_a_bulk_write_of_failures_over_a_page_that_has_moved_changes_nothing(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(0b1), LATER)
    written = store.replace_bits(LEAF, Page(), PageMasks(0b100, 0b010), LATER)

    assert not written.applied
    assert written.page == page(store) == Page(1, 1)
    assert store.get(KEY).failed == 0


def test_a_bulk_write_of_failures_to_a_batch_that_has_ended_changes_nothing(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(0b1), LATER)
    store.transition(KEY, ENDINGS[0])
    written = store.replace_bits(LEAF, page(store), PageMasks(0b100, 0b010), LATER)

    assert not written.applied
    assert written.page == page(store) == Page(1, 1)


SECOND = replace(LEAF, number=1)
LEAVES = [
    Replacement(LEAF, Page(0b1, 1), PageMasks(0b100, 0b010), fills=False),
    Replacement(SECOND, Page(), PageMasks(FULL & ~1, 1), fills=True),
]


def test_several_leaves_are_replaced_with_one_count_of_their_failures(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(failure=0b001), LATER)
    store.heal_bits(LEAF, 0b001)

    assert store.replace_pages(LEAVES, LATER)
    assert store.pages([LEAF, SECOND]) == {
        LEAF: Page(0b111, 3, failed=0b010),
        SECOND: Page(0, 1024, compacted=True, failed=1),
    }
    assert store.get(KEY).failed == 2
    assert not store.replace_pages(LEAVES, LATER)


@pytest.mark.parametrize("cause", ["a leaf has moved", "the batch has ended"])
def test_several_leaves_are_replaced_all_or_none(store, batch, cause):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(0b1), LATER)
    if cause == "a leaf has moved":
        store.add_bits(SECOND, PageMasks(0b1), LATER)
    else:
        store.transition(KEY, ENDINGS[0])
    before = store.pages([LEAF, SECOND])

    assert not store.replace_pages(LEAVES, LATER)
    assert store.pages([LEAF, SECOND]) == before
    assert store.get(KEY).failed == 0


def test_healing_takes_the_mark_and_the_count(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(failure=0b111), LATER)

    assert store.heal_bits(LEAF, 0b101)
    assert page(store) == Page(0b111, 3, failed=0b010)
    assert store.get(KEY).failed == 1


def test_nothing_fails_or_heals_in_a_batch_that_has_ended(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(failure=1), LATER)
    store.transition(KEY, ENDINGS[0])

    assert not store.add_bits(LEAF, PageMasks(failure=0b10), LATER).applied
    assert not store.heal_bits(LEAF, 1)
    assert page(store) == Page(1, 1, failed=1)
    assert store.get(KEY).failed == 1


def test_a_climb_carries_the_mark_of_failures(store):
    parent = PageKey(KEY, 1, 3)
    store.add_bits(parent, PageMasks(failure=0b100), LATER)

    assert store.pages([parent])[parent] == Page(0b100, 1, failed=0b100)


def test_compaction_keeps_the_marks_of_failures(store, batch):
    store.create(batch)
    store.add_bits(LEAF, PageMasks(failure=0b10), LATER)
    store.add_bits(LEAF, PageMasks(0b01), LATER)
    store.compact(LEAF, 2)

    assert page(store) == Page(0, 2, compacted=True, failed=0b10)


def test_counts_add_up_and_stop_at_compaction(store, batch):
    store.create(batch)
    store.add_count(LEAF, 5, Outcome.SUCCESS, LATER)

    assert store.add_count(LEAF, 2, Outcome.FAILURE, LATER) == Written(Page(n=7), applied=True)
    store.compact(LEAF, 7)
    assert not store.add_count(LEAF, 1, Outcome.SUCCESS, LATER).applied
    assert not store.add_count(LEAF, 1, Outcome.FAILURE, LATER).applied
    assert store.get(KEY).failed == 2


@pytest.mark.parametrize("failing", [False, True])
def test_a_page_is_stored_before_what_lies_below_it_and_keeps_its_mark(store, failing):
    store.prepare(ABOVE, failing, LATER)
    store.prepare(ABOVE, failing, LATER)
    assert store.pages([ABOVE]) == {ABOVE: Page(failing=failing)}

    written = store.add_bits(ABOVE, PageMasks(0b11), LATER)
    store.prepare(ABOVE, True, LATER)
    store.prepare(ABOVE, False, LATER)
    assert written.page == Page(bits=0b11, n=2, failing=failing)
    assert store.pages([ABOVE])[ABOVE] == Page(bits=0b11, n=2, failing=True)
