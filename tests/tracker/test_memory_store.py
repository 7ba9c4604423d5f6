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
BATCH = new_batch(BatchKey("tenant", "00000000-0000-4000-8000-000000000001"), AT)
GROUP, KEPT = Group("g", 9), Sample("item", "boom", AT)


def put_page(store):
    store.add_bits(LEAF, PageMasks(0b1), AT)
    store.add_bits(LEAF, PageMasks(0b10), AT + MINUTE)
    store.compact(LEAF, 2)


def put_reason(store):
    store.sample(LEAF.batch, 0, KEPT, AT)
    store.sample(LEAF.batch, 0, KEPT, AT + MINUTE)


ROWS = {
    "a page, after its last write": (put_page, lambda s: LEAF in s.stored_pages, AT + MINUTE),
    "a batch and its key": (
        lambda s: s.create_under(BATCH, "weekly", None),
        lambda s: s.named("tenant", "weekly") or s.get(BATCH.key),
        BATCH.row_expires_at,
    ),
    "the group and the origin of a reopened batch": (
        lambda s: s.create_reopened(BATCH, GROUP, [(0, 8)], None, None),
        lambda s: s.groups(BATCH.key, 0, 9, 9) or s.origin_ranges(BATCH.key),
        BATCH.pages_expire_at,
    ),
    "a reservation": (
        lambda s: s.reserve(s.create(BATCH), Receipt("k", 0, 9), GROUP),
        lambda s: s.receipt(BATCH.key, "k") or s.groups(BATCH.key, 0, 9, 9),
        BATCH.pages_expire_at,
    ),
    "a reason, after its first write": (put_reason, lambda s: s.samples(LEAF.batch), AT),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_deleted_from_its_expiry_on(row):
    put, found, expires_at = ROWS[row]
    store = MemoryStore()
    put(store)

    store.delete_expired(expires_at - TICK)
    assert found(store)
    store.delete_expired(expires_at)
    assert not found(store)
