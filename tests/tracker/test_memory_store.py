"""The store in memory knows when DynamoDB's TTL may delete each row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fanin.tracker import BatchKey
from fanin.tracker.memory import MemoryStore
from fanin.tracker.model import PageKey
from fanin.tracker.page import PageMasks

AT = datetime(2026, 3, 1, tzinfo=UTC)
LEAF = PageKey(BatchKey("tenant", "batch"), 0, 0)
MINUTE = timedelta(minutes=1)


def test_a_page_is_deleted_from_the_expiry_on_of_its_last_write():
    store = MemoryStore()
    store.add_bits(LEAF, PageMasks(0b1), AT)
    store.add_bits(LEAF, PageMasks(0b10), AT + MINUTE)
    store.compact(LEAF, 2)

    store.delete_expired(AT)
    assert LEAF in store.stored_pages
    store.delete_expired(AT + MINUTE)
    assert LEAF not in store.stored_pages
    assert store.expiring == {}


def test_a_row_that_is_not_selected_is_deleted_later():
    store = MemoryStore()
    store.add_bits(LEAF, PageMasks(0b1), AT)

    store.delete_expired(AT, deletes=lambda row: row[0] != "stored_pages")
    assert LEAF in store.stored_pages
    store.delete_expired(AT)
    assert LEAF not in store.stored_pages
