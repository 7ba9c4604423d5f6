"""What expired is replaced; what went while it was written is unknown. Time to live deletes late or never."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import BundleState, Lease, TaskState
from tests.contract.grouper.calls import LANE, LATER, NOW, OTHER, empty, task


@pytest.mark.parametrize("state", list(TaskState))
def test_a_task_that_expired_is_replaced_whatever_its_state(store, state):
    old = task(
        state=state, bundle_id=None if state is TaskState.CREATED else "b", detail="old", item_id="b:g:0"
    )
    store.create(old)
    new = task(lane=OTHER, payload="2", created_at=LATER, due_at=LATER, expires_at=LATER + timedelta(days=1))

    assert store.create(new) == new == store.task(new.key)
    assert [row.task_id for row in store.candidates(OTHER, 9)] == ["a"]
    assert store.candidates(LANE, 9) == []


def test_a_task_that_did_not_expire_yet_stays(store):
    store.create(task())
    new = task(payload="2", created_at=LATER - timedelta(microseconds=1))

    assert store.create(new) == task() == store.task(new.key)


def test_a_create_that_lands_late_replaces_nothing_that_came_after_it(store):
    """A copy of a request says when it was made: what was stored since has not expired by then."""
    first = task(created_at=NOW)
    store.create(first)
    second = task(payload="2", created_at=LATER, expires_at=LATER + timedelta(hours=1))
    store.create(second)

    assert store.create(first) == second == store.task(first.key)


def test_a_claimed_task_expires_with_its_bundle(store):
    store.create(task(expires_at=NOW + timedelta(seconds=1)))
    bundle = store.claim(empty().joined(("a",)), ("a",)).bundle

    assert store.task(task().key).expires_at == bundle.expires_at


def test_a_lease_that_went_while_it_was_written_is_unknown(store):
    gone = Lease(LANE, 7, "me", NOW)

    with pytest.raises(StoreUnavailable):
        store.put_lease(gone, gone.next(LATER))
    assert store.lease(LANE) is None


def test_a_bundle_that_went_while_it_was_written_is_unknown(store):
    with pytest.raises(StoreUnavailable):
        store.replace_bundle(empty().joined(("a",)).transition(BundleState.READY))
    assert store.bundle(empty().key) is None
