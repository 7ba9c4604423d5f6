"""The specifications, on histories that are broken by hand; those of test_recorded.py are right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from fanin.grouper import Bundle, BundleState, Lane, Lease
from fanin.grouper.store import Claim
from fanin.tracker import Outcome, State, Verdict
from tests.histories import grouper_spec, queue_spec, tracker_spec
from tests.histories.checker import check
from tests.histories.grouper_spec import Called
from tests.histories.history import UNKNOWN, Operation
from tests.histories.queue_spec import ACCEPTED, ACKED, REJECTED, Key
from tests.histories.tracker_spec import SWEEPER, Batch

SUCCESS, FAILED = Outcome.SUCCESS, Outcome.FAILURE
NEW, KNOWN = Verdict.ACCEPTED, Verdict.DUPLICATE
AT = datetime(2026, 3, 1, tzinfo=UTC)


def op(name, *args, at, answer=None):
    return Operation("c", name, args, *at, answer)


def lost(name, *args, at):
    return op(name, *args, at=(at, inf), answer=UNKNOWN)


class Batches:
    """Requests of one batch."""

    add = staticmethod(lambda count, at, answer, key="a": [op("add", key, count, at=at, answer=answer)])
    get = staticmethod(lambda at, state, total, by=None: [op("get", at=at, answer=(State(state), total, by))])

    @staticmethod
    def close(at, notified=None, by="closer"):
        first = op("close", at=at)
        then = op("settle", frozenset({by}), 0, True, True, at=at, answer=notified)
        then.after = (first,)
        return [first, then]

    @staticmethod
    def ack(item, at, verdict=NEW, outcome=SUCCESS, notified=None, by=None):
        mark = op("mark", item, outcome, at=at, answer=verdict)
        callers = frozenset({by or f"acker {item}"})
        settle = op("settle", callers, 1 << item, outcome is FAILED, at=at, answer=notified)
        settle.after = (mark,)
        return [mark, settle]

    @staticmethod
    def ack_pages(verdicts, at, notified):
        """One request of the acker, with an item in each page."""
        marks = [op("mark", item, SUCCESS, at=at, answer=verdict) for item, verdict in enumerate(verdicts)]
        marks.append(op("climb", "acker", at=at))
        settle = op("settle", frozenset({"acker"}), (1 << len(verdicts)) - 1, False, at=at, answer=notified)
        settle.after = tuple(marks)
        return [*marks, settle]


B = Batches
ADDED = B.add(2, (1, 2), (0, 2))
CLOSED = B.close((3, 4))
FAILED_BEFORE = [*ADDED, *CLOSED, *B.ack(0, (5, 6), outcome=FAILED)]
WHOLE = [*ADDED, *CLOSED, *B.ack(0, (5, 6)), *B.ack(1, (7, 8), notified="acker 1")]
BROKEN = {
    "a stale read": [*WHOLE, *B.get((9, 10), "CLOSED", 2)],
    "a lost bit": [*ADDED, *B.ack(0, (3, 4)), *B.ack(0, (5, 6))],
    "a double completion": [
        *ADDED, *CLOSED, *B.ack(0, (5, 8), notified="acker 0"), *B.ack(1, (6, 7), notified="acker 1")
    ],
    "completed too early": [*ADDED, *CLOSED, *B.ack(0, (5, 6), notified="acker 0")],
    "an add after the close": [*ADDED, *CLOSED, *B.add(1, (5, 6), (2, 1), key="b")],
    "completed for a caller that is not notified": [
        *FAILED_BEFORE, *B.ack_pages((KNOWN, NEW), (7, 8), notified=None),
        *B.get((9, 10), "COMPLETE", 2, "acker"),
    ],
    "a failure that overrides": [
        *ADDED, *B.ack(0, (3, 4)), *B.ack(0, (5, 6), KNOWN, FAILED), op("failed", 0, at=(7, 8), answer=True)
    ],
    "an effect before its request": [
        *ADDED, *CLOSED, *B.ack(0, (5, 6)), lost("mark", 1, SUCCESS, at=9), lost("settle", SWEEPER, at=9),
        *B.get((7, 8), "COMPLETE", 2),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_history_of_a_batch_has_none(name):
    assert not check(BROKEN[name], Batch(), tracker_spec.step, tracker_spec.READS).right


def test_enough_failures_end_a_batch():
    fails = [*ADDED, *B.ack(0, (3, 4), outcome=FAILED)]

    assert has_order([*fails, *B.get((5, 6), "FAILED", 2)], most=1)
    assert not has_order([*fails, *B.get((5, 6), "OPEN", 2)], most=1)
    assert not has_order([*fails, *B.get((5, 6), "FAILED", 2)], most=2)


def has_order(operations, most):
    return check(operations, Batch(most), tracker_spec.step).right


ADD = op("add", "p", at=(1, 2), answer=ACCEPTED)
TAKE = op("claim", "c1", at=(3, 4), answer=("p", 1, 0))
JOBS = {
    "a double take": [TAKE, op("claim", "c2", at=(5, 6), answer=("p", 1, 0))],
    "a lost claim that acks": [
        TAKE, op("give_back", "c1", False, at=(5, 6), answer=True), op("ack", "c1", at=(7, 8), answer=ACKED)
    ],
    "a lost ack": [
        TAKE, op("ack", "c1", at=(5, 6), answer=ACKED), op("add", "q", at=(7, 8), answer=REJECTED)
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", JOBS)
def test_a_broken_history_of_a_job_has_no_order(name):
    assert check([ADD, TAKE], Key(), queue_spec.step).right
    assert not check([ADD, *JOBS[name]], Key(), queue_spec.step).right


LANE = Lane("t", "a", "0")
FIRST, SECOND = (Lease(LANE, fence, f"leader {fence}", AT) for fence in (1, 2))


def test_a_lease_changes_hands_once():
    takes = op("put_lease", None, FIRST, at=(1, 4), answer=FIRST)
    other = Lease(LANE, 1, "another", AT)

    assert linear([takes, op("put_lease", None, other, at=(2, 3), answer=FIRST)])
    assert not linear([takes, op("put_lease", None, other, at=(2, 3), answer=other)])
    assert linear([takes, op("put_lease", FIRST, SECOND, at=(5, 6), answer=SECOND)])
    stale = op("lease", at=(7, 8), answer=FIRST)
    assert not linear([takes, op("put_lease", FIRST, SECOND, at=(5, 6), answer=SECOND), stale])


def linear(operations, initial=None):
    return check(operations, initial, grouper_spec.step, grouper_spec.READS).right


def bundle(version, state=BundleState.OPEN, members=("x",), **facts):
    return Bundle(LANE, 1, state, members, version, AT, AT + timedelta(days=1), **facts)


JOINED = op("claim", bundle(1), at=(1, 2), answer=Claim(bundle(1)))
SEALED = op("seal", bundle(1), at=(3, 4), answer=bundle(2, BundleState.READY))
CALLING = bundle(3, BundleState.CALLING, attempt=1, owner="h")
BEGUN = op("replace_bundle", CALLING, at=(5, 6), answer=CALLING)


def test_a_bundle_is_sealed_and_called_once_an_attempt():
    call = op("call", 1, ("x",), at=(7, 8))
    whole = [JOINED, SEALED, BEGUN, call]

    assert linear(whole, Called())
    assert not linear([*whole, op("call", 1, ("x",), at=(9, 10))], Called())
    assert not linear([JOINED, SEALED, call], Called())
    assert not linear([*whole[:3], op("call", 1, ("x", "y"), at=(7, 8))], Called())
    late = op("claim", bundle(2, members=("x", "y")), at=(9, 10), answer=Claim(bundle(2, members=("x", "y"))))
    assert not linear([*whole, late], Called())
