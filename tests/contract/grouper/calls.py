"""What the contract of the group-batcher's stores says to them, in short."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from fanin.grouper import Bundle, BundleState, Lane, Task, TaskState

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
LANE = Lane("tenant", "search", "0")
OTHER = Lane("tenant", "search", "1")
ENDED = {"state": TaskState.SUCCEEDED, "detail": "done"}


def task(name="a", lane=LANE, **facts):
    stored = Task(
        tenant=lane.tenant,
        task_id=name,
        target=lane.target,
        shard=lane.shard,
        state=TaskState.CREATED,
        payload='{"käy":"🎈"}',
        priority=0,
        item_id=None,
        attempts=0,
        created_at=NOW,
        due_at=NOW,
        expires_at=LATER,
    )
    return replace(stored, **facts)


def empty(fence=7, lane=LANE, created_at=NOW):
    return Bundle(lane, fence, BundleState.OPEN, (), 0, created_at, LATER)


def claimed(store, *names, fence=7, lane=LANE):
    """The stored bundle of these tasks, each claimed by a transaction of its own."""
    bundle = empty(fence, lane)
    for name in names:
        store.create(task(name, lane))
        bundle = store.claim(bundle.joined((name,)), (name,)).bundle
    return bundle


def rows(read):
    """All rows of a listing."""
    found, cursor = [], None
    while True:
        page = read(cursor)
        found += page.rows
        cursor = page.cursor
        if cursor is None:
            return found
