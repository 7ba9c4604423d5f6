"""The specifications, on histories that are right and on the same ones broken by hand."""

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
from tests.histories.queue_spec import ACCEPTED, ACKED, LOST, REJECTED, Key
from tests.histories.tracker_spec import REFUSED, SWEEPER, Batch

DONE, FAILED = Outcome.SUCCESS, Outcome.FAILURE
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
    def close(at, told=None, by="closer"):
        first = op("close", at=at)
        then = op("settle", frozenset({by}), 0, True, True, at=at, answer=told)
        then.after = (first,)
        return [first, then]

    @staticmethod
    def ack(item, at, verdict=NEW, outcome=DONE, told=None, by=None):
        mark = op("mark", item, outcome, at=at, answer=verdict)
        callers = frozenset({by or f"acker {item}"})
        settle = op("settle", callers, 1 << item, outcome is FAILED, at=at, answer=told)
        settle.after = (mark,)
        return [mark, settle]

    @staticmethod
    def ack_pages(verdicts, at, told, climbs=True):
        """One request of the acker, with an item in each page."""
        marks = [op("mark", item, DONE, at=at, answer=verdict) for item, verdict in enumerate(verdicts)]
        marks += [op("climb", "acker", at=at)] if climbs else []
        settle = op("settle", frozenset({"acker"}), (1 << len(verdicts)) - 1, False, at=at, answer=told)
        settle.after = tuple(marks)
        return [*marks, settle]


B = Batches
ADDED = B.add(2, (1, 2), (0, 2))
CLOSED = B.close((3, 4))
LOST_CLOSE = [lost("close", at=3), lost("settle", frozenset({"closer"}), 0, True, True, at=3)]
LOST_ACK = [lost("mark", 0, DONE, at=5), lost("settle", frozenset({"acker 0"}), 1, False, at=5)]
FAILED_BEFORE = [*ADDED, *CLOSED, *B.ack(0, (5, 6), outcome=FAILED)]
UNSEALED = [
    *ADDED, *LOST_CLOSE, *B.get((5, 6), "CLOSED", 2), *B.ack(0, (7, 8)), *B.ack(1, (9, 10)),
    *B.get((11, 12), "CLOSED", 2),
]  # fmt: skip
NOT_CLIMBED = [
    *ADDED, *CLOSED, *LOST_ACK, op("outstanding", 0, at=(6, 7), answer=False), *B.ack(1, (8, 9)),
    *B.get((10, 11), "CLOSED", 2),
]  # fmt: skip
WHOLE = [*ADDED, *CLOSED, *B.ack(0, (5, 6)), *B.ack(1, (7, 8), told="acker 1")]
RIGHT = {
    "acked and completed": WHOLE,
    "completed by one of two": [
        *ADDED, *CLOSED, *B.ack(0, (5, 8), told="acker 0"), *B.ack(1, (6, 7))
    ],
    "told again": [*WHOLE, *B.ack(1, (9, 10), KNOWN, told="acker 1")],
    "completed by the closer": [
        *ADDED, *B.ack(0, (3, 4)), *B.ack(1, (5, 6)), *B.close((7, 8), told="closer")
    ],
    "an add again": [*ADDED, *B.add(2, (3, 4), (0, 2)), *B.add(1, (5, 6), (2, 1), key="b")],
    "an add after the close": [*ADDED, *CLOSED, *B.add(1, (5, 6), REFUSED, key="b")],
    "an ack without an answer": [
        *ADDED, *CLOSED, *B.ack(0, (5, 6)), lost("mark", 1, DONE, at=7),
        lost("settle", frozenset({"x"}), at=7),
        *B.get((8, 9), "CLOSED", 2), *B.get((10, 11), "COMPLETE", 2, "x"),
    ],
    "completed by a sweep": [
        *ADDED, *CLOSED, *B.ack(0, (5, 6)), lost("mark", 1, DONE, at=7), lost("settle", SWEEPER, at=8),
        *B.get((9, 10), "COMPLETE", 2),
    ],
    "closed without an answer, and sealed by the next close": [
        *UNSEALED, *B.close((13, 14), told="closer"), *B.get((15, 16), "COMPLETE", 2, "closer")
    ],
    "acked without an answer, and completed by the same ack again": [
        *NOT_CLIMBED, *B.ack(0, (12, 13), KNOWN, told="acker 0")
    ],
    "completed by a page, and too late to heal with the next one": [
        *FAILED_BEFORE, *B.ack_pages((KNOWN, NEW), (7, 8), told="acker"),
        op("failed", 0, at=(9, 10), answer=True),
    ],
    "healed": [
        *ADDED, *B.ack(0, (3, 4), outcome=FAILED), *B.ack(0, (5, 6)), op("failed", 0, at=(7, 8), answer=False)
    ],
}  # fmt: skip
BROKEN = {
    "a stale read": [*WHOLE, *B.get((9, 10), "CLOSED", 2)],
    "a stale list": [*ADDED, *B.ack(0, (3, 4)), op("outstanding", 0, at=(5, 6), answer=True)],
    "a lost ack": [*ADDED, *CLOSED, *B.ack(0, (5, 6)), *B.ack(1, (7, 8))],
    "a lost bit": [*ADDED, *B.ack(0, (3, 4)), *B.ack(0, (5, 6))],
    "an ack that was none": [*ADDED, *B.ack(0, (3, 4), KNOWN)],
    "a double completion": [
        *ADDED, *CLOSED, *B.ack(0, (5, 8), told="acker 0"), *B.ack(1, (6, 7), told="acker 1")
    ],
    "told, and then not": [*WHOLE, *B.ack(1, (9, 10), KNOWN)],
    "completed too early": [*ADDED, *CLOSED, *B.ack(0, (5, 6), told="acker 0")],
    "completed while open": [*ADDED, *B.ack(0, (3, 4)), *B.ack(1, (5, 6), told="acker 1")],
    "items handed out twice": [*ADDED, *B.add(1, (3, 4), (1, 1), key="b")],
    "an add that grew": [*ADDED, *B.add(2, (3, 4), (2, 2))],
    "an add after the close": [*ADDED, *CLOSED, *B.add(1, (5, 6), (2, 1), key="b")],
    "sealed, and not completed": [*UNSEALED, *B.close((13, 14))],
    "acked again, and not completed": [*NOT_CLIMBED, *B.ack(0, (12, 13), KNOWN)],
    "completed for a caller that is not told": [
        *FAILED_BEFORE, *B.ack_pages((KNOWN, NEW), (7, 8), told=None), *B.get((9, 10), "COMPLETE", 2, "acker")
    ],
    "not healed while the batch goes on": [
        *FAILED_BEFORE, *B.ack_pages((KNOWN, NEW), (7, 8), told="acker", climbs=False)
    ],
    "completed by a page while an item is outstanding": [
        *B.add(3, (1, 2), (0, 3)), *CLOSED, *B.ack(0, (5, 6), outcome=FAILED),
        *B.ack_pages((KNOWN, NEW), (7, 8), told="acker"),
    ],
    "a failure that overrides": [
        *ADDED, *B.ack(0, (3, 4)), *B.ack(0, (5, 6), KNOWN, FAILED), op("failed", 0, at=(7, 8), answer=True)
    ],
    "an effect before its request": [
        *ADDED, *CLOSED, *B.ack(0, (5, 6)), lost("mark", 1, DONE, at=9), lost("settle", SWEEPER, at=9),
        *B.get((7, 8), "COMPLETE", 2),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_history_of_a_batch_has_an_order(name):
    assert check(RIGHT[name], Batch(), tracker_spec.step, tracker_spec.READS).right


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
    "taken and acked": ([ADD, TAKE, op("ack", "c1", at=(5, 6), answer=ACKED)], True),
    "a double take": ([ADD, TAKE, op("claim", "c2", at=(5, 6), answer=("p", 1, 0))], False),
    "a take of what is held": ([ADD, TAKE, op("claim", "c2", at=(5, 6), answer=("p", 2, 0))], False),
    "taken again": (
        [
            ADD,
            TAKE,
            op("give_back", "c1", True, at=(5, 6), answer=True),
            op("claim", "c2", at=(7, 8), answer=("p", 2, 1)),
            op("ack", "c1", at=(9, 10), answer=LOST),
        ],
        True,
    ),
    "a failure that is not counted": (
        [
            ADD,
            TAKE,
            op("give_back", "c1", True, at=(5, 6), answer=True),
            op("claim", "c2", at=(7, 8), answer=("p", 2, 0)),
        ],
        False,
    ),
    "a lost claim that acks": (
        [
            ADD,
            TAKE,
            op("give_back", "c1", False, at=(5, 6), answer=True),
            op("ack", "c1", at=(7, 8), answer=ACKED),
        ],
        False,
    ),
    "a lost ack": (
        [ADD, TAKE, op("ack", "c1", at=(5, 6), answer=ACKED), op("add", "q", at=(7, 8), answer=REJECTED)],
        False,
    ),
    "two live jobs": ([ADD, op("add", "q", at=(3, 4), answer=ACCEPTED)], False),
    "an ack that was called lost": (
        [ADD, TAKE, op("ack", "c1", at=(5, 6), answer=LOST), op("add", "q", at=(7, 8), answer=ACCEPTED)],
        False,
    ),
    "an ack without an answer": (
        [ADD, TAKE, lost("ack", "c1", at=5), op("add", "q", at=(7, 8), answer=ACCEPTED)],
        True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", JOBS)
def test_histories_of_a_job(name):
    operations, right = JOBS[name]

    assert check(operations, Key(), queue_spec.step).right is right


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
