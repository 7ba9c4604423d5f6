"""What every store promises the tracker, each promise written once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fanin.tracker import Batch, BatchKey, Group, Retention, State, TrackerStore
from fanin.tracker.model import PageKey, Receipt
from fanin.tracker.page import Page, mask_of

NOW = datetime(2026, 3, 1, 12, 0, 0, 123000, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
KEY = BatchKey("tenant", "00000000-0000-4000-8000-000000000001")
LEAF = PageKey(KEY, 0, 3)
FULL = mask_of(0, 1023)


@pytest.fixture
def batch() -> Batch:
    return Batch(
        tenant=KEY.tenant,
        batch_id=KEY.batch_id,
        state=State.OPEN,
        mode="exact",
        user_key="käy 🎈",
        total=0,
        failed=0,
        page_bits=1024,
        salt=b"0123456789abcdef",
        fingerprint="f",
        retention=Retention(),
        created_at=NOW,
        expires_at=NOW + timedelta(days=7),
    )


def receipt(start: int, count: int, key: str = "k") -> Receipt:
    return Receipt(key, start, count)


def reserve(store: TrackerStore, seen: Batch, wanted: Receipt) -> Receipt | None:
    return store.reserve(seen, wanted, Group("g", wanted.count))


def page(store: TrackerStore) -> Page:
    return store.pages([LEAF])[LEAF]


def test_a_batch_is_read_as_it_was_stored(store, batch):
    store.create(batch)

    assert store.get(KEY) == batch


def test_a_batch_without_a_user_key_is_read_without_one(store, batch):
    store.create(replace(batch, user_key=None))

    assert store.get(KEY) == replace(batch, user_key=None)


def test_the_first_batch_of_a_key_stays(store, batch):
    store.create(batch)

    assert store.create(replace(batch, salt=b"another salt....")) == batch
    assert store.get(KEY) == batch


def test_a_batch_that_is_not_there_is_none(store):
    assert store.get(KEY) is None
    assert store.close(KEY, NOW, LATER) is None
    assert store.complete(KEY, "me", NOW, LATER) is None
    assert store.get(KEY) is None


def test_a_reservation_grows_the_batch_and_leaves_a_receipt(store, batch):
    store.create(batch)

    assert reserve(store, batch, receipt(0, 10)) == receipt(0, 10)
    assert store.get(KEY) == replace(batch, total=10)
    assert store.receipt(KEY, "k") == receipt(0, 10)


def test_a_receipt_that_is_not_there_is_none(store, batch):
    store.create(batch)

    assert store.receipt(KEY, "k") is None


def test_the_same_key_is_answered_with_its_first_reservation(store, batch):
    store.create(batch)
    reserve(store, batch, receipt(0, 10))

    assert reserve(store, replace(batch, total=10), receipt(10, 5)) == receipt(0, 10)
    assert store.get(KEY).total == 10


def test_a_reservation_over_a_total_that_has_moved_changes_nothing(store, batch):
    store.create(batch)
    reserve(store, batch, receipt(0, 10, "first"))

    assert reserve(store, batch, receipt(0, 5, "second")) is None
    assert store.get(KEY).total == 10
    assert store.receipt(KEY, "second") is None


def test_a_closed_batch_refuses_reservations(store, batch):
    store.create(batch)
    store.close(KEY, NOW, LATER)

    assert reserve(store, batch, receipt(0, 10)) is None
    assert store.get(KEY).total == 0


def test_close_happens_once_and_keeps_its_time(store, batch):
    store.create(batch)
    closed = replace(batch, state=State.CLOSED, closed_at=NOW, expires_at=LATER)

    assert store.close(KEY, NOW, LATER) == closed
    assert store.close(KEY, LATER, LATER) == closed


def test_an_open_batch_does_not_complete(store, batch):
    store.create(batch)

    assert store.complete(KEY, "me", NOW, LATER) == batch
    assert store.get(KEY) == batch


def test_the_first_to_complete_a_closed_batch_is_named_for_ever(store, batch):
    store.create(batch)
    store.close(KEY, NOW, LATER)
    first = store.complete(KEY, "first", NOW, LATER)

    assert (first.state, first.completed_by, first.completed_at) == (State.COMPLETE, "first", NOW)
    assert store.complete(KEY, "second", LATER, LATER) == first


def test_a_complete_batch_is_not_closed_again(store, batch):
    store.create(batch)
    store.close(KEY, NOW, LATER)
    done = store.complete(KEY, "first", NOW, LATER)

    assert store.close(KEY, LATER, LATER) == done


def test_an_absent_page_is_not_among_the_pages(store):
    assert store.pages([LEAF]) == {}


def test_bits_are_added_and_counted(store):
    store.add_bits(LEAF, 0b101, LATER)
    written = store.add_bits(LEAF, 1 << 17 | 1 << 1023, LATER)

    assert written.applied
    assert written.page == page(store) == Page(bits=0b101 | 1 << 17 | 1 << 1023, n=4)


@pytest.mark.parametrize("neighbour", range(6))
def test_neighbours_in_one_digit_are_added_without_conflict(store, neighbour):
    others = 0b111111 & ~(1 << neighbour)
    store.add_bits(LEAF, others << 12, LATER)

    assert store.add_bits(LEAF, 1 << 12 + neighbour, LATER).applied
    assert page(store) == Page(bits=0b111111 << 12, n=6)


def test_an_add_with_a_bit_that_is_set_changes_nothing_and_shows_the_page(store):
    store.add_bits(LEAF, 0b10, LATER)
    written = store.add_bits(LEAF, 0b11 | 1 << 900, LATER)

    assert not written.applied
    assert written.page == page(store) == Page(bits=0b10, n=1)


def test_a_bulk_write_sets_what_is_left_of_a_page(store):
    store.add_bits(LEAF, 0b1, LATER)
    seen = page(store)
    written = store.replace_bits(LEAF, seen, FULL & ~1, LATER)

    assert written.applied
    assert written.page == page(store) == Page(bits=FULL, n=1024)


def test_a_bulk_write_makes_a_page_that_is_not_there(store):
    assert store.replace_bits(LEAF, Page(), FULL, LATER).applied
    assert page(store) == Page(bits=FULL, n=1024)


def test_a_bulk_write_over_a_page_that_has_moved_changes_nothing(store):
    store.add_bits(LEAF, 0b1, LATER)
    written = store.replace_bits(LEAF, Page(), FULL & ~1, LATER)

    assert not written.applied
    assert written.page == page(store) == Page(bits=1, n=1)


def test_a_bulk_write_to_a_page_that_close_has_marked_is_applied(store):
    seen = store.mark_tail(LEAF, 200, root=True, expires_at=LATER)

    assert store.replace_bits(LEAF, seen, mask_of(0, 199), LATER).page == Page(
        mask_of(0, 199), 200, 200, True
    )


def test_the_last_page_is_told_its_size_whether_it_is_there_or_not(store):
    assert store.mark_tail(LEAF, 5, root=False, expires_at=LATER) == Page(size=5)
    store.add_bits(LEAF, 0b1, LATER)

    assert store.mark_tail(LEAF, 5, root=False, expires_at=LATER) == Page(1, 1, 5)


def test_only_a_full_page_is_compacted(store):
    store.add_bits(LEAF, 0b1011, LATER)
    store.compact(LEAF, 4)

    assert page(store) == Page(bits=0b1011, n=3)


def test_a_compacted_page_has_its_count_and_no_digits(store):
    store.replace_bits(LEAF, Page(), FULL, LATER)
    store.compact(LEAF, 1024)
    store.compact(LEAF, 1024)

    assert page(store) == Page(n=1024, compacted=True)


def test_a_compacted_page_takes_no_write(store):
    store.replace_bits(LEAF, Page(), FULL, LATER)
    seen = page(store)
    store.compact(LEAF, 1024)
    compacted = Page(n=1024, compacted=True)

    assert store.add_bits(LEAF, 1, LATER) == type(store.add_bits(LEAF, 1, LATER))(compacted, applied=False)
    assert not store.replace_bits(LEAF, seen, 1, LATER).applied
    assert page(store) == compacted


def test_many_pages_are_read_at_once(store):
    keys = [PageKey(KEY, 0, number) for number in range(230)]
    for key in keys[::2]:
        store.add_bits(key, 1, LATER)

    assert store.pages(keys) == {key: Page(1, 1) for key in keys[::2]}
