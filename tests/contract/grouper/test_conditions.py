"""Every write compares what was seen for equality: neither an older nor a newer row will do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.grouper import BundleState, Claim, Lane, Lease, TaskState
from tests.contract.grouper.calls import ENDED, LANE, LATER, NOW, claimed, empty, task

FENCES = (1, 3, 5, 6, 8, 9, 12, 20)
"""Of other bundles than the usual one: their ids come before and after its own."""
SEALED = (BundleState.READY, BundleState.CALLING, BundleState.APPLYING, BundleState.DONE, BundleState.FAILED)
LANES = tuple(
    Lane("tenant", target, shard) for target in ("post", "search", "tell") for shard in ("1", "part-x")
)


def test_the_ids_of_the_other_bundles_come_before_and_after():
    ids = [empty(fence).bundle_id for fence in FENCES]

    assert min(ids) < empty().bundle_id < max(ids)


@pytest.mark.parametrize("fence", FENCES)
def test_a_task_is_settled_by_its_own_bundle_alone(store, fence):
    claimed(store, "a")
    stored = store.task(task().key)

    assert store.settle(task(**ENDED), empty(fence).bundle_id) == stored
    assert store.task(task().key) == stored


@pytest.mark.parametrize("state", [state for state in TaskState if state is not TaskState.BUNDLED])
def test_a_task_is_settled_while_it_is_bundled_alone(store, state):
    bundle = claimed(store, "a")
    before = store.settle(task(state=state, bundle_id=bundle.bundle_id), bundle.bundle_id)

    assert store.settle(task(**ENDED, attempts=9), bundle.bundle_id) == before
    assert store.task(task().key) == before


@pytest.mark.parametrize("seen", [6, 8])
def test_a_lease_is_put_over_the_term_that_was_seen(store, seen):
    stored = store.put_lease(None, Lease(LANE, 7, "me", LATER))

    assert store.put_lease(Lease(LANE, seen, "me", LATER), Lease(LANE, 9, "me", LATER)) == stored
    assert store.lease(LANE) == stored


@pytest.mark.parametrize("holder", ["a", "z", None])
def test_a_lease_is_put_over_the_holder_that_was_seen(store, holder):
    stored = store.put_lease(None, Lease(LANE, 7, "me", LATER))

    assert store.put_lease(Lease(LANE, 7, holder, LATER), Lease(LANE, 9, "me", LATER)) == stored
    assert store.lease(LANE) == stored


def test_a_released_lease_is_not_one_with_a_holder(store):
    mine = store.put_lease(None, Lease(LANE, 7, "me", LATER))
    free = store.put_lease(mine, mine.released())

    assert store.put_lease(mine, Lease(LANE, 8, "me", LATER)) == free


@pytest.mark.parametrize("state", SEALED)
def test_a_seal_leaves_a_sealed_bundle_as_it_is(store, state):
    stored = store.seal(claimed(store, "a"))
    stored = stored if state is stored.state else store.replace_bundle(stored.transition(state, owner="me"))

    assert store.seal(empty()) == stored
    assert store.bundle(stored.key) == stored


@pytest.mark.parametrize("ahead", [-2, -1, 1, 2])
def test_a_bundle_is_replaced_over_no_other_version(store, ahead):
    stored = store.seal(claimed(store, "a", "b", "c"))
    other = replace(stored, version=stored.version + ahead)

    assert store.replace_bundle(other.transition(BundleState.CALLING, owner="me")) == stored
    assert store.bundle(stored.key) == stored


def test_a_bundle_without_an_owner_is_replaced_by_one_without(store):
    ready = store.seal(claimed(store, "a"))
    waits = ready.transition(BundleState.READY, not_before=LATER)

    assert store.replace_bundle(waits) == waits
    assert store.bundle(ready.key).owner is None


@pytest.mark.parametrize("ahead", [-2, -1, 1])
def test_a_claim_joins_no_other_version(store, ahead):
    stored = claimed(store, "a", "b", "c")
    store.create(task("d"))
    other = replace(stored, version=stored.version + ahead)

    assert store.claim(other.joined(("d",)), ("d",)) == Claim(stored)
    assert store.task(task("d").key) == task("d")


@pytest.mark.parametrize("state", SEALED)
def test_a_claim_joins_no_sealed_bundle_of_its_version(store, state):
    stored = store.seal(claimed(store, "a"))
    stored = stored if state is stored.state else store.replace_bundle(stored.transition(state))
    store.create(task("b"))

    assert store.claim(stored.joined(("b",)), ("b",)) == Claim(stored)
    assert store.task(task("b").key) == task("b")


@pytest.mark.parametrize("lane", LANES, ids=str)
def test_a_claim_takes_tasks_of_its_lane_alone(store, lane):
    store.create(task("a", lane))

    assert store.claim(empty().joined(("a",)), ("a",)) == Claim(None, frozenset("a"))
    assert store.task(task("a", lane).key) == task("a", lane)


@pytest.mark.parametrize("seconds", [-1, 1])
def test_a_bucket_is_moved_over_no_other_time(store, seconds):
    store.put_full_at(LANE, None, NOW)

    assert not store.put_full_at(LANE, NOW + timedelta(seconds=seconds), LATER)
    assert store.full_at(LANE) == NOW


def test_a_task_is_replaced_from_the_moment_on_at_which_it_expires(store):
    store.create(task())
    early = task(created_at=LATER - timedelta(microseconds=1), payload="2")
    late = task(created_at=LATER, expires_at=LATER + timedelta(hours=1), payload="2")

    assert store.create(early) == task()
    assert store.create(late) == late
