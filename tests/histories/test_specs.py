"""The specification, on histories that are broken by hand; those of test_recorded.py are right."""

from __future__ import annotations

from math import inf

import pytest

from fanin.tracker import Outcome, State, Verdict
from tests.histories import tracker_spec
from tests.histories.checker import check
from tests.histories.history import UNKNOWN, Operation
from tests.histories.tracker_spec import SWEEPER, Batch

DONE, FAILED = Outcome.SUCCESS, Outcome.FAILURE
NEW, KNOWN = Verdict.ACCEPTED, Verdict.DUPLICATE


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


B = Batches
ADDED = B.add(2, (1, 2), (0, 2))
CLOSED = B.close((3, 4))
WHOLE = [*ADDED, *CLOSED, *B.ack(0, (5, 6)), *B.ack(1, (7, 8), told="acker 1")]
BROKEN = {
    "a stale read": [*WHOLE, *B.get((9, 10), "CLOSED", 2)],
    "a lost bit": [*ADDED, *B.ack(0, (3, 4)), *B.ack(0, (5, 6))],
    "a double completion": [
        *ADDED, *CLOSED, *B.ack(0, (5, 8), told="acker 0"), *B.ack(1, (6, 7), told="acker 1")
    ],
    "completed too early": [*ADDED, *CLOSED, *B.ack(0, (5, 6), told="acker 0")],
    "an add after the close": [*ADDED, *CLOSED, *B.add(1, (5, 6), (2, 1), key="b")],
    "a failure that overrides": [
        *ADDED, *B.ack(0, (3, 4)), *B.ack(0, (5, 6), KNOWN, FAILED), op("failed", 0, at=(7, 8), answer=True)
    ],
    "an effect before its request": [
        *ADDED, *CLOSED, *B.ack(0, (5, 6)), lost("mark", 1, DONE, at=9), lost("settle", SWEEPER, at=9),
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
