"""What every store promises the grouper, each promise written once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import (
    BundleState,
    Claim,
    Lane,
    Lease,
    Outcome,
    TaskKey,
    TaskState,
    Verdict,
)
from tests.contract.grouper.calls import ENDED, LANE, LATER, NOW, OTHER, claimed, empty, rows, task


def test_a_task_is_read_as_it_was_stored(store):
    wanted = task(item_id="b:g:0", priority=7)

    assert store.create(wanted) == wanted
    assert store.task(wanted.key) == wanted


def test_the_first_task_of_an_id_stays_and_no_other_tenant_reaches_it(store):
    store.create(task())

    assert store.create(task(payload="2")) == task()
    assert store.task(task().key) == task()
    assert store.task(TaskKey("other", "a")) is None


def test_what_is_not_there_is_none(store):
    assert store.task(TaskKey("tenant", "a")) is None
    assert store.lease(LANE) is None
    assert store.bundle(empty().key) is None
    assert store.full_at(LANE) is None
    assert store.tasks([TaskKey("tenant", "a")]) == {}


def test_many_tasks_are_read_at_once(store):
    wanted = [task(f"t{number}") for number in range(130)]
    for one in wanted:
        store.create(one)

    assert store.tasks([one.key for one in wanted]) == {one.key: one for one in wanted}


def test_a_first_term_is_taken_once(store):
    first, second = Lease(LANE, 7, "me", LATER), Lease(LANE, 7, "you", LATER)

    assert store.put_lease(None, first) == first
    assert store.put_lease(None, second) == first
    assert store.lease(LANE) == first


def test_a_released_lease_is_taken_once(store):
    mine = Lease(LANE, 7, "me", LATER)
    store.put_lease(None, mine)
    store.put_lease(mine, mine.released())
    yours, theirs = Lease(LANE, 8, "you", LATER), Lease(LANE, 8, "they", LATER)

    assert store.put_lease(mine.released(), yours) == yours
    assert store.put_lease(mine.released(), theirs) == yours


def test_a_claim_makes_the_bundle_and_moves_its_tasks(store):
    for name in "ab":
        store.create(task(name))
    bundle = empty().joined(("a", "b"))

    assert store.claim(bundle, ("a", "b")) == Claim(bundle)
    assert store.bundle(bundle.key) == bundle
    bundled = task(state=TaskState.BUNDLED, bundle_id=bundle.bundle_id)
    assert store.task(bundled.key) == bundled


def test_a_second_claim_adds_to_the_first(store):
    bundle = claimed(store, "a", "b", "c")

    assert bundle.members == ("a", "b", "c")
    assert store.bundle(bundle.key) == bundle


def test_a_claim_changes_nothing_where_one_task_is_not_open(store):
    first = claimed(store, "a")
    store.create(task("b"))
    second = empty(8).joined(("a", "b"))

    assert store.claim(second, ("a", "b")) == Claim(None, frozenset("a"))
    assert store.bundle(second.key) is None
    assert store.task(task("b").key) == task("b")
    assert store.task(task("a").key).bundle_id == first.bundle_id


def test_a_claim_over_a_bundle_that_is_there_shows_it(store):
    stored = claimed(store, "a")
    store.create(task("b"))

    assert store.claim(empty().joined(("b",)), ("b",)) == Claim(stored)
    assert store.claim(replace(stored, version=5).joined(("b",)), ("b",)) == Claim(stored)
    assert store.task(task("b").key) == task("b")


def test_a_claim_that_is_sent_again_finds_what_it_did(store):
    store.create(task("a"))
    bundle = empty().joined(("a",))
    store.claim(bundle, ("a",))
    again = store.claim(bundle, ("a",))

    assert again.bundle == bundle


def test_a_seal_closes_an_open_bundle_once(store):
    bundle = claimed(store, "a", "b")
    sealed = replace(bundle, state=BundleState.READY, version=bundle.version + 1)

    assert store.seal(empty()) == sealed
    assert store.seal(empty()) == sealed
    assert store.bundle(bundle.key) == sealed


def test_a_seal_of_what_is_not_there_stands_in_the_slow_leaders_way(store):
    void = store.seal(empty())
    store.create(task("a"))

    assert (void.state, void.members, void.is_void) == (BundleState.READY, (), True)
    assert store.claim(empty().joined(("a",)), ("a",)) == Claim(void)
    assert store.task(task("a").key) == task("a")
    assert store.seal(empty()) == void


def test_a_void_bundle_has_no_members_whatever_the_slow_leader_had_read(store):
    void = store.seal(empty().joined(("a",)))

    assert void == replace(empty(), state=BundleState.READY, version=1)
    assert store.bundle(void.key) == void


def test_a_bundle_is_replaced_over_the_version_that_was_seen(store):
    ready = store.seal(claimed(store, "a"))
    facts = {"attempt": 1, "owner": "me", "call_until": LATER}
    calling = ready.transition(BundleState.CALLING, **facts)

    assert store.replace_bundle(calling) == calling
    assert store.replace_bundle(ready.transition(BundleState.CALLING, attempt=1, owner="you")) == calling
    assert store.bundle(ready.key) == calling


def test_a_bundle_keeps_its_outcomes_and_forgets_its_times(store):
    ready = store.seal(claimed(store, "a", "b"))
    resting = store.replace_bundle(ready.transition(BundleState.READY, not_before=LATER, attempt=1))
    outcomes = (Outcome(Verdict.OK), Outcome(Verdict.RETRY, 'later "🎈"'))
    applying = resting.transition(BundleState.APPLYING, not_before=None, outcomes=outcomes)

    assert resting.not_before == LATER
    assert store.replace_bundle(applying) == applying
    assert store.bundle(ready.key) == applying


def test_a_write_of_a_bundle_never_carries_its_members(store):
    ready = store.seal(claimed(store, "a", "b"))
    store.replace_bundle(replace(ready.transition(BundleState.CALLING, owner="me"), members=("a", "b")))

    assert store.bundle(ready.key).members == ("a", "b")


def test_a_task_is_settled_in_its_bundle(store):
    bundle = claimed(store, "a")
    settled = task(**ENDED, bundle_id=bundle.bundle_id)

    assert store.settle(settled, bundle.bundle_id) == settled
    assert store.task(settled.key) == settled


def test_a_task_that_goes_back_is_a_candidate_of_its_new_lane(store):
    bundle = claimed(store, "a")
    part = Lane("tenant", "search", "part-x-0")
    back = task("a", part, attempts=1, due_at=LATER, detail="busy")

    assert store.settle(back, bundle.bundle_id) == back
    assert [c.task_id for c in store.candidates(part, 10)] == ["a"]
    assert store.candidates(LANE, 10) == []


def test_candidates_come_by_priority_then_by_due_time(store):
    store.create(task("late", due_at=LATER))
    store.create(task("b"))
    store.create(task("a"))
    store.create(task("first", priority=999, due_at=LATER))
    store.create(task("elsewhere", OTHER))
    found = store.candidates(LANE, 10)

    assert [c.task_id for c in found] == ["first", "a", "b", "late"]
    assert (found[0].lane, found[0].due_at) == (LANE, LATER)
    assert [c.task_id for c in store.candidates(LANE, 2)] == ["first", "a"]


def test_open_tasks_are_those_of_every_lane_and_a_bundled_one_is_none_and_no_candidate(store):
    claimed(store, "bundled")
    assert store.candidates(LANE, 10) == []
    for name, lane in (("a", LANE), ("b", OTHER), ("c", Lane("other", "mail", "0"))):
        store.create(task(name, lane))

    assert {(str(c.lane), c.task_id) for c in rows(store.open_tasks)} == {
        ("tenant#search#0", "a"),
        ("tenant#search#1", "b"),
        ("other#mail#0", "c"),
    }


def test_live_bundles_are_those_that_have_members_and_did_not_end(store):
    alive = {claimed(store, f"t{fence}", fence=fence).key for fence in range(10, 16)}
    store.seal(empty(8))
    ended = store.seal(claimed(store, "x", fence=9)).transition(BundleState.APPLYING)
    ended = store.replace_bundle(ended).transition(BundleState.DONE)
    store.replace_bundle(ended)

    assert set(rows(lambda cursor: store.live(LATER, cursor))) == alive
    assert rows(lambda cursor: store.live(NOW, cursor)) == []


def test_bundles_of_a_lane_are_listed_from_the_newest(store):
    keys = [claimed(store, f"t{fence}", fence=fence).key for fence in (10, 11, 12)]
    store.seal(empty(13))
    claimed(store, "other", fence=11, lane=OTHER)
    page = store.bundles_of(LANE, 2, None)

    assert list(page.rows) == [keys[2], keys[1]]
    assert list(store.bundles_of(LANE, 2, page.cursor).rows) == [keys[0]]
    assert store.bundles_of(LANE, 3, None).cursor is None


def test_a_bucket_is_moved_over_what_was_seen_and_nothing_else(store):
    assert store.put_full_at(LANE, None, NOW)
    assert store.put_full_at(LANE, None, LATER) is False
    assert store.put_full_at(LANE, NOW, LATER)
    assert not store.put_full_at(LANE, NOW, LATER)
    assert store.full_at(LANE) == LATER


OWNER = ({}, {"owner": "me"})
CALL = ({}, {"call_until": LATER})
NOT_BEFORE = ({}, {"not_before": LATER})
OUTCOMES = ({}, {"outcomes": (Outcome(Verdict.OK),)})
STATES = (BundleState.CALLING, BundleState.DONE)


def test_each_form_of_a_bundle_replaces_the_version_before_it(store):
    bundle = claimed(store, "a")
    for state, owner, call, not_before, outcomes in product(STATES, OWNER, CALL, NOT_BEFORE, OUTCOMES):
        form = owner | call | not_before | outcomes
        bare = replace(bundle, owner=None, call_until=None, not_before=None, outcomes=())
        bundle = replace(bare, state=state, version=bundle.version + 1, **form)

        assert store.replace_bundle(bundle).version == bundle.version
        assert store.replace_bundle(replace(bundle, attempt=9)).attempt == bundle.attempt


def pages(read, limit):
    """All rows of a list, page by page."""
    cursor, found = None, []
    while True:
        page = read(limit, cursor)
        found.append(list(page.rows))
        cursor = page.cursor
        if cursor is None:
            return found


def test_waiting_tasks_come_page_by_page_in_their_order(store):
    for number, priority in enumerate((0, 7, 0, 7, 0)):
        at = NOW + timedelta(seconds=number)
        store.create(task(f"t{number}", priority=priority, due_at=at))
    store.create(task("other", OTHER))
    found = pages(lambda limit, after: store.waiting(LANE, limit, after), 2)

    assert [[each.task_id for each in page] for page in found] == [["t1", "t3"], ["t0", "t2"], ["t4"]]
    assert [each.task_id for each in store.waiting(LANE, 5, None).rows] == ["t1", "t3", "t0", "t2", "t4"]
    assert store.waiting(LANE, 5, None).cursor is None


def test_tasks_of_the_same_moment_are_each_listed_once(store):
    for name in "abc":
        store.create(task(name))
    found = pages(lambda limit, after: store.waiting(LANE, limit, after), 1)

    assert [[each.task_id for each in page] for page in found] == [["a"], ["b"], ["c"]]


def lead(store, tenant, target, shard):
    lane = Lane(tenant, target, shard)
    store.put_lease(None, Lease(lane, 1, "me", NOW))


def test_a_tenants_targets_are_listed_once_each_by_name_without_parts(store):
    for target in ("b", "a/eu", "c"):
        for shard in ("0", "1", "part-x-0"):
            lead(store, "t", target, shard)
    lead(store, "t", "only-parts", "part-y-0")
    lead(store, "u", "d", "0")

    assert pages(lambda limit, after: store.targets_of("t", limit, after), 2) == [["a/eu", "b"], ["c"]]
    assert pages(lambda limit, after: store.targets_of("u", limit, after), 1) == [["d"]]
    assert pages(lambda limit, after: store.targets_of("v", limit, after), 1) == [[]]


def test_more_lanes_than_one_request_reads_are_one_target(store):
    for shard in range(64):
        lead(store, "t", "a", str(shard))
        lead(store, "t", "b", str(shard))
        lead(store, "t", "c", str(shard))

    assert pages(lambda limit, after: store.targets_of("t", limit, after), 10) == [["a", "b", "c"]]
    assert pages(lambda limit, after: store.targets_of("t", limit, after), 2) == [["a", "b"], ["c"]]


def test_a_lease_that_is_renewed_and_released_stays_listed(store):
    lane = Lane("t", "a", "0")
    first = Lease(lane, 1, "me", NOW)
    store.put_lease(None, first)
    store.put_lease(first, first.next(NOW))
    store.put_lease(first.next(NOW), first.next(NOW).released())

    assert list(store.targets_of("t", 5, None).rows) == ["a"]
    assert store.lease(lane).fence == 2


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


def test_what_went_while_it_was_written_is_unknown(store):
    gone = Lease(LANE, 7, "me", NOW)

    with pytest.raises(StoreUnavailable):
        store.put_lease(gone, gone.next(LATER))
    with pytest.raises(StoreUnavailable):
        store.replace_bundle(empty().joined(("a",)).transition(BundleState.READY))
    assert (store.lease(LANE), store.bundle(empty().key)) == (None, None)
