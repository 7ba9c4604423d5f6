"""What the rules return to the second and to the letter, at their bounds and on both sides of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fanin.grouper import (
    Bundle,
    BundleState,
    Isolation,
    Lane,
    Lease,
    Outcome,
    Policy,
    Task,
    TaskState,
    Timing,
    Verdict,
)
from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.model import Status
from fanin.grouper.rules.rate import token

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LANE = Lane("t", "search", "0")
SECOND, TICK = timedelta(seconds=1), timedelta(microseconds=1)
LATER = NOW + timedelta(days=1)
TIMING = Timing(pending=timedelta(days=3), ended=timedelta(days=2))
ENDED = {Verdict.OK: "SUCCEEDED", Verdict.FAIL: "FAILED", Verdict.EXHAUSTED: "DEAD"}


def bundle(*members, **facts):
    stored = Bundle(LANE, 7, BundleState.CALLING, members, 3, NOW, LATER, attempt=1)
    return replace(stored, **facts)


def task(**facts):
    stored = Task("t", "a", "search", "0", TaskState.BUNDLED, "1", 0, None, 2, NOW, NOW, LATER, "old")
    return replace(stored, **facts)


def outcomes(*names):
    return tuple(Outcome(Verdict(name), "why") for name in names)


@pytest.mark.parametrize(
    ("waits", "chance", "seconds"),
    [(0, 0, 1), (0, 0.99, 1), (1, 0.5, 2), (3, 0.5, 5), (3, 0.99, 8), (4, 0.99, 15), (9, 0.5, 8)],
)
def test_a_message_waits_for_a_leader_exponentially_with_jitter(waits, chance, seconds):
    assert rules.lease_wait(waits, lambda: chance) == seconds


@pytest.mark.parametrize(
    ("attempt", "chance", "seconds"),
    [
        (0, 0, 0.5),
        (0, 0.5, 0.75),
        (1, 0, 1),
        (3, 0, 4),
        (3, 0.5, 6),
        (9, 0, 256),
        (10, 0, 450),
        (99, 0.5, 675),
    ],
)
def test_a_backoff_is_half_fixed_and_half_jitter(attempt, chance, seconds):
    assert rules.backoff(attempt, lambda: chance) == timedelta(seconds=seconds)


def test_a_term_follows_the_last_one_and_the_first_one_is_the_time():
    policy = Policy(lease=timedelta(seconds=20))
    first = rules.first_term(None, LANE, "me", NOW, policy)
    second = rules.first_term(first, LANE, "you", LATER, policy)

    assert first == Lease(LANE, int(NOW.timestamp()) * 1000, "me", NOW + 20 * SECOND)
    assert second == Lease(LANE, first.fence + 1, "you", LATER + 20 * SECOND)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"state": BundleState.READY, "not_before": NOW + SECOND}, (rules.Step.WAIT, SECOND)),
        ({"state": BundleState.READY, "call_until": NOW + SECOND}, (rules.Step.CALL, timedelta())),
        ({"call_until": NOW + SECOND}, (rules.Step.WAIT, SECOND)),
        ({"not_before": NOW + SECOND}, (rules.Step.CALL, timedelta())),
        ({"call_until": NOW + SECOND, "attempt": 8}, (rules.Step.WAIT, SECOND)),
        ({"attempt": 7}, (rules.Step.CALL, timedelta())),
        ({"attempt": 8}, (rules.Step.GIVE_UP, timedelta())),
        ({"attempt": 9}, (rules.Step.GIVE_UP, timedelta())),
        ({"state": BundleState.APPLYING, "not_before": LATER}, (rules.Step.APPLY, timedelta())),
        ({"state": BundleState.OPEN, "not_before": LATER}, (rules.Step.NOTHING, timedelta())),
        ({"state": BundleState.DONE}, (rules.Step.NOTHING, timedelta())),
    ],
)
def test_a_step_and_its_wait(facts, expected):
    assert rules.next_step(bundle("a", **facts), Policy(), NOW) == expected


DUE = Policy().overdue


@pytest.mark.parametrize(
    ("facts", "since"),
    [
        ({"state": BundleState.OPEN}, NOW),
        ({"state": BundleState.READY, "call_until": LATER}, NOW),
        ({"state": BundleState.READY, "not_before": NOW + SECOND}, NOW + SECOND),
        ({"state": BundleState.READY, "not_before": NOW - SECOND}, NOW),
        ({"call_until": NOW + SECOND, "not_before": LATER}, NOW + SECOND),
        ({"call_until": None}, NOW),
        ({"state": BundleState.APPLYING}, NOW),
    ],
)
def test_a_bundle_is_overdue_two_leases_after_its_last_progress(facts, since):
    stored = bundle("a", **facts)

    assert timedelta(seconds=30) == DUE
    assert rules.is_overdue(stored, Policy(), since + DUE)
    assert not rules.is_overdue(stored, Policy(), since + DUE - TICK)


@pytest.mark.parametrize(
    "stored", [None, bundle(), bundle("a", state=BundleState.DONE), bundle("a", state=BundleState.FAILED)]
)
def test_a_bundle_that_ended_or_has_no_member_is_not_overdue(stored):
    assert rules.is_overdue(stored, Policy(), LATER) is False


RETRY, FAIL, OK = (Outcome(Verdict(name), "why") for name in ("retry", "fail", "ok"))


@pytest.mark.parametrize(
    ("members", "attempt", "whole", "named", "expected"),
    [
        ("a", 2, RETRY, {}, None),
        ("a", 3, RETRY, {}, outcomes("exhausted")),
        ("a", 4, RETRY, {}, outcomes("exhausted")),
        ("ab", 3, RETRY, {}, outcomes("apart", "apart")),
        ("a", 1, FAIL, {}, outcomes("fail")),
        ("ab", 1, FAIL, {}, outcomes("apart", "apart")),
        ("ab", 1, OK, {}, outcomes("ok", "ok")),
        ("ab", 1, RETRY, {"b": OK}, outcomes("retry", "ok")),
        ("ab", 3, RETRY, {"b": OK}, outcomes("retry", "ok")),
        ("ab", 1, FAIL, {"b": OK}, outcomes("fail", "ok")),
    ],
)
def test_the_verdicts_on_the_members_of_a_bundle(members, attempt, whole, named, expected):
    assert rules.verdicts(bundle(*members, attempt=attempt), whole, named, 3) == expected


@pytest.mark.parametrize("verdict", ENDED)
def test_a_task_that_ended_keeps_its_facts_and_is_stored_for_a_while(verdict):
    stored = bundle("x", "a", outcomes=outcomes("ok", verdict))
    after = rules.after(task(), stored, Policy(), TIMING, LATER, SECOND)

    ended = task(state=TaskState(ENDED[verdict]), detail="why", expires_at=LATER + timedelta(days=2))
    assert after == ended


@pytest.mark.parametrize(
    ("isolation", "size", "part"),
    [(Isolation.SOLO, 4, 3), (Isolation.HALVES, 4, 1), (Isolation.HALVES, 7, 0)],
)
def test_a_task_of_a_refused_bundle_is_open_again_in_its_part_at_once(isolation, size, part):
    members = [*"wxy", "a", *"zuv"][:size]
    stored = bundle(*members, outcomes=outcomes(*["apart"] * size))
    after = rules.after(task(), stored, Policy(isolation=isolation), TIMING, LATER, SECOND)

    opened = {"state": TaskState.CREATED, "bundle_id": None, "expires_at": LATER + timedelta(days=3)}
    shard = f"part-{stored.bundle_id}-{part}"
    assert after == task(**opened, shard=shard, due_at=LATER, detail="why", attempts=2)


@pytest.mark.parametrize(("attempts", "state"), [(5, "CREATED"), (6, "CREATED"), (7, "DEAD"), (8, "DEAD")])
def test_a_task_is_retried_alone_until_its_attempts_are_used_up(attempts, state):
    stored = bundle("a", outcomes=outcomes("retry"))
    after = rules.after(task(attempts=attempts), stored, Policy(), TIMING, LATER, SECOND)

    assert (after.state, after.attempts, after.detail) == (TaskState(state), attempts + 1, "why")
    if state == "CREATED":
        assert (after.due_at, after.bundle_id, after.shard) == (LATER + SECOND, None, "0")
        assert after.expires_at == LATER + timedelta(days=3)


@pytest.mark.parametrize(
    ("state", "bundled_in", "status"),
    [
        ("CREATED", None, "CREATED"),
        ("FAILED", "CALLING", "FAILED"),
        ("BUNDLED", None, "BUNDLED"),
        ("BUNDLED", "OPEN", "BUNDLED"),
        ("BUNDLED", "READY", "BUNDLED"),
        ("BUNDLED", "CALLING", "IN_PROGRESS"),
        ("BUNDLED", "APPLYING", "IN_PROGRESS"),
        ("BUNDLED", "DONE", "BUNDLED"),
    ],
)
def test_the_status_of_a_task_follows_from_its_bundle(state, bundled_in, status):
    stored = bundle("a", state=BundleState(bundled_in)) if bundled_in else None

    assert rules.status_of(task(state=TaskState(state)), stored) is Status(status)


@pytest.mark.parametrize(
    ("state", "outcome", "may_be"),
    [
        ("OPEN", None, {"BUNDLED"}),
        ("READY", None, {"BUNDLED"}),
        ("CALLING", None, {"IN_PROGRESS"}),
        ("APPLYING", "ok", {"IN_PROGRESS", "SUCCEEDED"}),
        ("APPLYING", "fail", {"IN_PROGRESS", "FAILED"}),
        ("DONE", "ok", {"SUCCEEDED"}),
        ("DONE", "retry", {"DEAD"}),
        ("DONE", "exhausted", {"DEAD"}),
        ("FAILED", "fail", {"FAILED"}),
        ("FAILED", "apart", set(Status)),
    ],
)
def test_the_states_that_a_member_may_be_in_by_its_bundle(state, outcome, may_be):
    stored = bundle("x", "a", state=BundleState(state), outcomes=outcomes("ok", outcome) if outcome else ())

    assert {str(each) for each in Status if rules.may_be(stored, 1, each)} == may_be


@pytest.mark.parametrize(
    ("verdicts", "state"),
    [
        (["ok", "fail"], "DONE"),
        (["retry", "fail"], "DONE"),
        (["fail", "fail"], "FAILED"),
        (["exhausted"], "FAILED"),
        (["apart", "apart"], "FAILED"),
    ],
)
def test_a_bundle_failed_if_none_of_its_members_may_succeed(verdicts, state):
    assert rules.ended_state(bundle(*"ab", outcomes=outcomes(*verdicts))) is BundleState(state)


@pytest.mark.parametrize(
    ("detail", "kept"),
    [("a" * 201, 200), ("ä" * 101, 100), ('"' * 101, 100), ("\\" * 101, 100), ("a" + "ä" * 100, 100)],
)
def test_a_detail_is_cut_at_200_bytes_of_json(detail, kept):
    assert rules.shortened(Outcome(Verdict.FAIL, detail)).detail == detail[:kept]


@pytest.mark.parametrize(
    ("full_at", "burst", "wait", "full_after"),
    [
        (None, 1, 0, 0.5),
        (-9, 1, 0, 0.5),
        (0, 1, 0, 0.5),
        (0.25, 1, 0.25, 0.75),
        (0.5, 2, 0, 1),
        (1, 2, 0.5, 1.5),
        (1, 3, 0, 1.5),
    ],
)
def test_a_token_moves_the_time_at_which_the_bucket_is_full(full_at, burst, wait, full_after):
    seen = None if full_at is None else NOW + full_at * SECOND
    taken = token(seen, Policy(rate=2.0, burst=burst), NOW)

    assert (taken.wait, taken.full_at) == (wait * SECOND, NOW + full_after * SECOND)
