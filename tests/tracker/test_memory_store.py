"""The store in memory knows when DynamoDB's TTL may delete each row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fanin.tracker import BatchKey, Group
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey, Receipt, Sample
from fanin.tracker.rules.page import PageMasks
from tests.tracker.calls import new_batch

AT = datetime(2026, 3, 1, tzinfo=UTC)
LEAF = PageKey(BatchKey("tenant", "batch"), 0, 0)
MINUTE = timedelta(minutes=1)
TICK = timedelta(microseconds=1)


@pytest.fixture
def batch():
    return new_batch(BatchKey("tenant", "00000000-0000-4000-8000-000000000001"), AT)


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


def test_a_key_is_deleted_with_its_batch(batch):
    store = MemoryStore()
    store.create_under(batch, "weekly", None)

    store.delete_expired(batch.row_expires_at - TICK)
    assert store.named("tenant", "weekly") == batch.batch_id
    store.delete_expired(batch.row_expires_at)
    assert store.named("tenant", "weekly") is None
    assert store.get(batch.key) is None


def test_the_group_and_the_origin_of_a_reopened_batch_are_deleted_with_its_pages(batch):
    store = MemoryStore()
    store.create_reopened(batch, Group("g", 9), [(0, 8)], None, None)

    store.delete_expired(batch.pages_expire_at - TICK)
    assert store.groups(batch.key, 0, 9, 9) == [(0, Group("g", 9))]
    assert store.origin_ranges(batch.key) == ((0, 8),)
    store.delete_expired(batch.pages_expire_at)
    assert store.groups(batch.key, 0, 9, 9) == []
    assert store.origin_ranges(batch.key) is None


def test_a_reservation_is_deleted_with_the_pages_of_its_batch(batch):
    store = MemoryStore()
    reserved = store.reserve(store.create(batch), Receipt("k", 0, 9), Group("g", 9))

    store.delete_expired(batch.pages_expire_at - TICK)
    assert store.receipt(batch.key, "k") == reserved
    assert store.groups(batch.key, 0, 9, 9) == [(0, Group("g", 9))]
    store.delete_expired(batch.pages_expire_at)
    assert store.receipt(batch.key, "k") is None
    assert store.groups(batch.key, 0, 9, 9) == []


def test_a_reason_is_deleted_at_the_expiry_of_its_first_write():
    store = MemoryStore()
    kept = Sample("item", "boom", AT)
    store.sample(LEAF.batch, 0, kept, AT)
    store.sample(LEAF.batch, 0, kept, AT + MINUTE)

    store.delete_expired(AT - TICK)
    assert store.samples(LEAF.batch) == [kept]
    store.delete_expired(AT)
    assert store.samples(LEAF.batch) == []
