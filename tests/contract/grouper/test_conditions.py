"""Every write compares what was seen for equality: neither an older nor a newer row will do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.grouper import BundleState, Claim, Lane, Lease, TaskState
from tests.contract.grouper.calls import ENDED, LANE, LATER, NOW, claimed, empty, rows, task

FENCES = (1, 3, 5, 6, 8, 9, 12, 20)
"""Of other bundles than the usual one: their ids come before and after its own."""
SEALED = (BundleState.READY, BundleState.CALLING, BundleState.APPLYING, BundleState.DONE, BundleState.FAILED)
LANES = tuple(
    Lane("tenant", target, shard) for target in ("post", "search", "write") for shard in ("1", "part-x")
)


def test_a_task_is_settled_by_its_own_bundle_alone(store):
    claimed(store, "a")
    stored = store.task(task().key)

    assert [store.settle(task(**ENDED), empty(fence).bundle_id) for fence in FENCES] == [stored] * len(FENCES)
    assert store.task(task().key) == stored
    assert store.settle(task("none", **ENDED), empty().bundle_id) is None


@pytest.mark.parametrize("state", [state for state in TaskState if state is not TaskState.BUNDLED])
def test_a_task_is_settled_while_it_is_bundled_alone(store, state):
    bundle = claimed(store, "a")
    before = store.settle(task(state=state, bundle_id=bundle.bundle_id), bundle.bundle_id)

    assert store.settle(task(**ENDED, attempts=9), bundle.bundle_id) == before
    assert store.task(task().key) == before


def test_a_lease_is_put_over_the_term_and_the_holder_that_were_seen(store):
    stored = store.put_lease(None, Lease(LANE, 7, "me", LATER))

    for fence, holder in ((6, "me"), (8, "me"), (7, "a"), (7, "z"), (7, None)):
        assert store.put_lease(Lease(LANE, fence, holder, LATER), Lease(LANE, 9, "me", LATER)) == stored
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


def test_a_bundle_is_replaced_over_no_other_version(store):
    stored = store.seal(claimed(store, "a", "b", "c"))
    others = [replace(stored, version=stored.version + ahead) for ahead in (-2, -1, 1, 2)]

    for other in others:
        assert store.replace_bundle(other.transition(BundleState.CALLING, owner="me")) == stored
    assert store.bundle(stored.key) == stored


def test_a_claim_joins_no_other_version(store):
    stored = claimed(store, "a", "b", "c")
    store.create(task("d"))

    for other in [replace(stored, version=stored.version + ahead) for ahead in (-2, -1, 1)]:
        assert store.claim(other.joined(("d",)), ("d",)) == Claim(stored)
    assert store.task(task("d").key) == task("d")


@pytest.mark.parametrize("state", SEALED)
def test_a_claim_joins_no_sealed_bundle_of_its_version(store, state):
    stored = store.seal(claimed(store, "a"))
    stored = stored if state is stored.state else store.replace_bundle(stored.transition(state))
    store.create(task("b"))

    assert store.claim(stored.joined(("b",)), ("b",)) == Claim(stored)
    assert store.task(task("b").key) == task("b")


def test_a_claim_takes_tasks_of_its_lane_alone(store):
    for name, lane in zip("abcdef", LANES, strict=True):
        store.create(task(name, lane))

        assert store.claim(empty().joined((name,)), (name,)) == Claim(None, frozenset(name))
        assert store.task(task(name, lane).key) == task(name, lane)


def test_a_claim_takes_what_was_due_when_the_bundle_was_begun(store):
    tick = timedelta(microseconds=1)
    for name, due in {"early": NOW + tick, "due": NOW, "late": NOW - tick}.items():
        store.create(task(name, due_at=due))
    bundle = empty(created_at=NOW)

    assert store.claim(bundle.joined(("due", "early")), ("due", "early")) == Claim(None, frozenset({"early"}))
    joined = bundle.joined(("due", "late"))
    assert store.claim(joined, ("due", "late")) == Claim(joined)
    assert store.task(task("early").key).state is TaskState.CREATED


def test_a_claim_takes_no_task_before_the_end_of_a_backoff_that_its_leader_did_not_read(store):
    """Between the leader's read of the task and its claim another bundle took the task and retried it."""
    first = claimed(store, "a")
    rests = task(due_at=LATER, attempts=1)
    store.settle(rests, first.bundle_id)
    slow = empty(8).joined(("a",))

    assert store.claim(slow, ("a",)) == Claim(None, frozenset("a"))
    assert store.task(rests.key) == rests
    later = empty(9, created_at=LATER).joined(("a",))
    assert store.claim(later, ("a",)) == Claim(later)


def test_a_bucket_is_moved_over_no_other_time(store):
    store.put_full_at(LANE, None, NOW)

    assert not store.put_full_at(LANE, NOW - timedelta(seconds=1), LATER)
    assert not store.put_full_at(LANE, NOW + timedelta(seconds=1), LATER)
    assert store.full_at(LANE) == NOW


def test_a_task_is_replaced_from_the_moment_on_at_which_it_expires(store):
    store.create(task())
    early = task(created_at=LATER - timedelta(microseconds=1), payload="2")
    late = task(created_at=LATER, expires_at=LATER + timedelta(hours=1), payload="2")

    assert store.create(early) == task()
    assert store.create(late) == late


@pytest.mark.parametrize("end", [BundleState.DONE, BundleState.FAILED])
def test_a_bundle_is_live_until_it_ends(store, end):
    bundle = store.seal(claimed(store, "a"))
    for state in (BundleState.CALLING, BundleState.READY, BundleState.APPLYING):
        bundle = store.replace_bundle(bundle.transition(state))
        assert live(store) == [bundle.key]
    store.replace_bundle(bundle.transition(end))

    assert live(store) == []


def live(store):
    """All live bundles, shard by shard."""
    return rows(lambda cursor: store.live(LATER, cursor))
