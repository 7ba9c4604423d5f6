"""The rules as values, on both sides of their bounds, and the diagrams of the page."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest
from fanin.grouper import (
    Bundle,
    BundleKey,
    BundleMessage,
    BundleState,
    Isolation,
    Lane,
    Lease,
    Outcome,
    Policy,
    Task,
    TaskKey,
    TaskMessage,
    TaskState,
    Timing,
    Verdict,
)
from fanin.grouper.dynamodb.items import outcomes_text
from fanin.grouper.dynamodb.requests import claim
from fanin.grouper.rules import protocol as rules
from fanin.grouper.rules.ids import bundle_id, checked_bundle_id
from fanin.grouper.rules.messages import Message
from fanin.grouper.rules.model import Candidate, Status
from fanin.grouper.rules.order import order_of
from fanin.grouper.rules.rate import token
from fanin.grouper.settings.policy import SIZE_MAX
from tests.simulation_grouper.transitions import BUNDLE_TRANSITIONS, TASK_TRANSITIONS

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LANE = Lane("t", "search", "0")
SECOND, TICK = timedelta(seconds=1), timedelta(microseconds=1)
LATER = NOW + timedelta(days=1)
TIMING = Timing(pending=timedelta(days=3), ended=timedelta(days=2))


def bundle(*members, **facts):
    stored = Bundle(LANE, 7, BundleState.CALLING, members, 3, NOW, LATER, attempt=1)
    return replace(stored, **facts)


def bundled_task(**facts):
    stored = Task("t", "a", "search", "0", TaskState.BUNDLED, "1", 0, None, 2, NOW, NOW, LATER, "old")
    return replace(stored, **facts)


def outcomes(*names):
    return tuple(Outcome(Verdict(name), "why") for name in names)


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


@pytest.mark.parametrize(
    ("isolation", "size", "part"),
    [(Isolation.SOLO, 4, 3), (Isolation.HALVES, 4, 1), (Isolation.HALVES, 7, 0)],
)
def test_a_task_of_a_refused_bundle_is_open_again_in_its_part_at_once(isolation, size, part):
    members = [*"wxy", "a", *"zuv"][:size]
    stored = bundle(*members, outcomes=outcomes(*["apart"] * size))
    after = rules.after(bundled_task(), stored, Policy(isolation=isolation), TIMING, LATER, SECOND)

    opened = {"state": TaskState.CREATED, "bundle_id": None, "expires_at": LATER + timedelta(days=3)}
    shard = f"part-{stored.bundle_id}-{part}"
    assert after == bundled_task(**opened, shard=shard, due_at=LATER, detail="why", attempts=2)


@pytest.mark.parametrize(("attempts", "state"), [(5, "CREATED"), (6, "CREATED"), (7, "DEAD"), (8, "DEAD")])
def test_a_task_is_retried_alone_until_its_attempts_are_used_up(attempts, state):
    stored = bundle("a", outcomes=outcomes("retry"))
    after = rules.after(bundled_task(attempts=attempts), stored, Policy(), TIMING, LATER, SECOND)

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

    assert rules.status_of(bundled_task(state=TaskState(state)), stored) is Status(status)


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


def task(name, **facts):
    stored = Task("t", name, "search", "0", TaskState.CREATED, "1", 0, None, 0, NOW, NOW, LATER)
    return replace(stored, **facts)


@pytest.mark.parametrize(("delay", "seconds"), [(-1, 0), (0, 0), (0.2, 1), (1, 1), (899.5, 900), (5000, 900)])
def test_a_delay_is_whole_seconds_that_the_queue_takes(delay, seconds):
    assert rules.seconds(timedelta(seconds=delay)) == seconds


@given(st.integers(2, 1000), st.sampled_from(Isolation))
def test_taking_apart_makes_every_part_smaller(size, isolation):
    refused = bundle(*(f"t{number}" for number in range(size)))
    shards = [rules.part_shard(refused, number, isolation) for number in range(size)]
    sizes = [shards.count(shard) for shard in set(shards)]

    assert max(sizes) <= ((size + 1) // 2 if isolation is Isolation.HALVES else 1)
    assert len(sizes) == (2 if isolation is Isolation.HALVES else size)
    assert all(Lane("t", "search", shard).is_part for shard in shards)


def test_details_are_short_and_plain():
    short = rules.shortened(Outcome(Verdict.FAIL, "line\nbreak\x00 \ud800" + "🎈" * 100)).detail

    assert len(short.encode()) <= rules.DETAIL_BYTES
    assert short.startswith("line break")
    assert short.isprintable()


@pytest.mark.parametrize("text", ["", "x", "6F0A5A43-2F67-5A0E-9D0C-5A5B0F6A7D11", "{6f0a5a43}"])
def test_a_bundle_id_has_one_form(text):
    with pytest.raises(InvalidRequest):
        checked_bundle_id(text)


@pytest.mark.parametrize("full", ["🎈" * 100, '"' * 300, "\\" * 300], ids=["wide", "quotes", "slashes"])
def test_a_claim_fits_one_transaction_and_a_bundle_one_item(full):
    names = tuple(f"{number:064}" for number in range(SIZE_MAX))
    request = claim("T", "B", bundle(*names, version=2), names[:98])
    verdicts = rules.verdicts(
        bundle(*names), Outcome(Verdict.OK), {n: Outcome(Verdict.FAIL, full) for n in names}, 3
    )

    assert len(request["TransactItems"]) == 99
    assert sum(len(n) + 1 for n in names) + len(outcomes_text(verdicts)["S"].encode()) < 300_000


PART = Lane("t", "search", "part-x-0")
POLICY = Policy(max_size=3, max_delay=timedelta(seconds=10))


@pytest.mark.parametrize(
    ("lane", "count", "waited", "worth"),
    [
        (LANE, 2, POLICY.max_delay - TICK, False),
        (LANE, 2, POLICY.max_delay, True),
        (LANE, 3, timedelta(0), True),
        (PART, 1, timedelta(0), True),
        (LANE, 0, timedelta(0), False),
    ],
)
def test_another_bundle_is_worth_it_when_it_is_full_or_a_task_waited_long_enough(lane, count, waited, worth):
    found = [Candidate(lane, str(number), NOW - waited) for number in range(count)]

    assert rules.worth_another(found, POLICY, NOW) is worth


NAME = bundle_id("lane", 1)
TASK_KEY, BUNDLE_KEY = TaskKey("t", "a"), BundleKey("t", NAME)
FIRST = {
    f'{{"tenant":"t","{name}":"{value}","waits":0,"swept":false,"target":"mail"}}': (kind, key)
    for kind, key, name, value in (
        (TaskMessage, TASK_KEY, "taskId", "a"),
        (BundleMessage, BUNDLE_KEY, "bundleId", NAME),
    )
}
"""The text of the first message of each kind, of which no delayed copy was sent."""


@pytest.mark.parametrize(("body", "of"), FIRST.items(), ids=["task", "bundle"])
def test_a_message_is_compact_json(body, of):
    kind, key = of

    assert kind(key, target="mail").body() == body
    assert isinstance(kind(key), Message)


@pytest.mark.parametrize(("body", "of"), FIRST.items(), ids=["task", "bundle"])
def test_a_message_without_waits_and_swept_is_the_first_of_its_kind(body, of):
    kind, key = of
    short = body.replace(',"waits":0,"swept":false,"target":"mail"', "")

    assert kind.parse(short) == kind(key, waits=0, swept=False)


@pytest.mark.parametrize(("priority", "first"), [(0, "999"), (1, "998"), (999, "000")])
def test_the_sort_key_of_a_task_has_the_same_length_for_each_priority(bench, priority, first):
    (task,) = bench.register("a", priority=priority)
    micros = int(task.due_at.timestamp() * 1_000_000)

    assert order_of(task) == f"{first}#{micros:016d}#a"
    assert re.fullmatch(r"\d{3}#\d{16}#a", order_of(task))


@pytest.mark.parametrize(("name", "shard"), [("a", "47"), ("b", "53"), ("task-1", "3"), ("order.7", "35")])
def test_a_task_has_the_same_shard_in_each_version(make_bench, name, shard):
    (task,) = make_bench(Policy(shards=64)).register(name)

    assert task.shard == shard


def test_a_term_follows_the_last_one_and_the_first_one_is_the_time():
    policy = Policy(lease=timedelta(seconds=20))
    first = rules.first_term(None, LANE, "me", NOW, policy)
    second = rules.first_term(first, LANE, "you", LATER, policy)

    assert first == Lease(LANE, int(NOW.timestamp()) * 1000, "me", NOW + 20 * SECOND)
    assert second == Lease(LANE, first.fence + 1, "you", LATER + 20 * SECOND)


@pytest.mark.parametrize(
    ("detail", "kept"),
    [("a" * 201, 200), ("ä" * 101, 100), ('"' * 101, 100), ("\\" * 101, 100), ("a" + "ä" * 100, 100)],
)
def test_a_detail_is_cut_at_200_bytes_of_json(detail, kept):
    assert rules.shortened(Outcome(Verdict.FAIL, detail)).detail == detail[:kept]


def test_an_empty_bundle_is_kept_as_long_as_its_tasks_may_be():
    empty = rules.empty_bundle(Lease(LANE, 7, "me", LATER), NOW, TIMING)

    assert (empty.version, empty.expires_at) == (0, NOW + TIMING.pending + TIMING.ended)


PAGE = Path(__file__).parents[2] / "docs" / "grouper_reference.md"
DIAGRAMS = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", PAGE.read_text(), re.DOTALL)
ALLOWED = [
    pytest.param(TaskState, TASK_TRANSITIONS, {"CREATED"}, id="task"),
    pytest.param(BundleState, BUNDLE_TRANSITIONS, {"OPEN", "READY"}, id="bundle"),
]


@pytest.mark.parametrize(("states", "transitions", "first"), ALLOWED)
def test_a_diagram_shows_every_transition_and_which_states_are_first_and_terminal(states, transitions, first):
    task_diagram, bundle_diagram = DIAGRAMS
    diagram = task_diagram if states is TaskState else bundle_diagram
    arrows = set(re.findall(r"^ +(\S+) --> (\w+|\[\*\])", diagram, re.MULTILINE))

    assert {arrow for arrow in arrows if "[*]" not in arrow} == transitions
    assert {end for start, end in arrows if start == "[*]"} == first
    assert {start for start, end in arrows if end == "[*]"} == {state for state in states if state.ended}


def test_the_wait_for_a_lease_is_a_second_and_a_share_of_what_doubles_up_to_15():
    longest = [rules.lease_wait(waits, lambda: 1.0) for waits in range(6)]

    assert (rules.lease_wait(9, lambda: 0.0), longest) == (1, [2, 3, 5, 9, 16, 16])
