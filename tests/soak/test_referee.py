"""The referee of the soak finds each kind of loss; a sound run breaks no rule."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.soak import referee
from tests.soak.load.ledger import Expected, Ledger

NOW = 1000.0


def ended(state="COMPLETE", total=3, failed=0, acked=3, result="succeeded"):
    return {
        "state": state,
        "total": total,
        "result": result,
        "progress": {"acked": acked, "failed": failed},
    }


WANTED = {
    "a": Expected("direct", total=3),
    "b": Expected("queued", total=3, failed=1),
    "c": Expected("orphan", state="EXPIRED"),
    "d": Expected("cancelled", total=2, state="CANCELLED"),
}
FOUND = {
    "a": ended(),
    "b": ended(failed=1, result="completed_with_failures"),
    "c": None,
    "d": ended("CANCELLED", 2, acked=1, result="cancelled"),
}


def test_batches_that_ended_as_the_load_made_them_hold():
    assert referee.states(WANTED, FOUND).holds


@pytest.mark.parametrize(
    ("batch", "row"),
    [
        ("a", None),
        ("a", ended("CLOSED")),
        ("a", ended(total=4)),
        ("a", ended(acked=2)),
        ("a", ended(failed=1)),
        ("b", ended(failed=1)),
        ("c", ended("OPEN")),
        ("d", ended()),
    ],
)
def test_a_batch_that_ended_otherwise_is_found(batch, row):
    rule = referee.states(WANTED, FOUND | {batch: row})

    assert len(rule.broken) == 1
    assert batch in rule.broken[0]


def event(kind, name):
    return {"kind": kind, "eventId": name}


def reported(state, times):
    """The ledger of a batch whose completion so many callers got."""
    ledger = Ledger()
    ledger.opened("a", Expected("direct", state=state))
    for _ in range(times):
        ledger.reported_by_close("a")
    return ledger


ONE = {"a": Expected("direct")}
LISTED = {"a": Expected("direct", failed_items={"a:1:0"})}
DONE, OTHER = event("BatchCompleted", "a:1"), event("BatchCancelled", "a:2")
TASK = {"t": "x"}
NONE_LEFT = dict.fromkeys(referee.ENDED_JOBS, 0)
JOBS = Counter(k=2)
TWICE = [("k", "1", 1), ("k", "2", 1)]
ENDED_ROW = {"pk": "a", "sk": "batch", "state": "COMPLETE", "ttl": "900"}
COUNTS = {"BatchesOpened": 10, "ItemsAdded": 100, "BatchesCompleted": 10}
WARM = [(float(at), 100.0 + min(at, 100) * 3) for at in range(0, 300, 10)]
SOUND = {
    "copies of one event": referee.events(ONE, {"a": [DONE] * 2}),
    "the items that failed": referee.lists(LISTED, {"a": {"a:1:0"}}),
    "documented answers": referee.answers(7, []),
    "one caller": referee.reports(reported("COMPLETE", 1)),
    "a task done once": referee.tasks(TASK, {}, {"t": {}}),
    "jobs done once": referee.jobs(JOBS, TWICE, NONE_LEFT),
    "the poison": referee.dead_letters({"p"}, {"consumers": ["p"], "acks": []}),
    "rows": referee.rows({"batches": [ENDED_ROW], "pages": [{"pk": "a#1", "ttl": "900"}]}, ONE, NOW),
    "metrics": referee.metrics(COUNTS, COUNTS, {}),
    "a repeated request": referee.metrics(COUNTS, COUNTS | {"ItemsAdded": 60}, {"ItemsAdded": 40}),
    "a killed publisher": referee.metrics(COUNTS, COUNTS | {"BatchesCompleted": 8}, {referee.ENDED: 2}),
    "a warm start": referee.memory("it", WARM),
}
BROKEN = {
    "no event": referee.events(ONE, {"a": []}),
    "another event": referee.events(ONE, {"a": [event("BatchTimedOut", "a:1")]}),
    "two events": referee.events(ONE, {"a": [DONE, event("BatchCompleted", "a:2")]}),
    "two ends": referee.events(ONE, {"a": [DONE, OTHER]}),
    "a failure that is not listed": referee.lists(LISTED, {"a": set()}),
    "an answer that is not documented": referee.answers(7, ["GET /v1/batches: 418"]),
    "two callers": referee.reports(reported("COMPLETE", 2)),
    "a completion that never was": referee.reports(reported("CANCELLED", 1)),
    "a lost task": referee.tasks(TASK, {}, {}),
    "a task done twice": referee.tasks(TASK, {"t": "SUCCEEDED, done 2 times"}, {"t": {}}),
    "a lost job": referee.jobs(JOBS, TWICE[:1], NONE_LEFT),
    "a repeated job": referee.jobs(JOBS, [*TWICE, ("k", "3", 1)], NONE_LEFT),
    "a job in progress": referee.jobs(JOBS, TWICE, NONE_LEFT | {"inProgress": 1}),
    "lost poison": referee.dead_letters({"p"}, {"consumers": []}),
    "poison twice": referee.dead_letters({"p"}, {"consumers": ["p", "p"]}),
    "another dead-letter queue": referee.dead_letters({"p"}, {"consumers": ["p"], "acks": ["x"]}),
    "a live row past its time": referee.rows({"batches": [ENDED_ROW | {"state": "OPEN"}]}, ONE, NOW),
    "a batch without a time": referee.rows({"batches": [{"pk": "a", "sk": "batch"}]}, ONE, NOW),
    "a page without a time": referee.rows({"pages": [{"pk": "a"}]}, ONE, NOW),
    "a lost item": referee.metrics(COUNTS, COUNTS | {"ItemsAdded": 99}, {}),
    "no metrics": referee.metrics(COUNTS, {}, {"ItemsAdded": 100}),
    "a lost end": referee.metrics(COUNTS, COUNTS | {"BatchesCompleted": 8}, {"BatchesCompleted": 2}),
    "memory that grows": referee.memory("it", [(at, 100.0 + at) for at, _ in WARM]),
    "too few samples": referee.memory("it", WARM[:3]),
}


@pytest.mark.parametrize("name", [*SOUND, *BROKEN])
def test_what_breaks_a_promise_is_found_and_nothing_else(name):
    assert (SOUND | BROKEN)[name].holds is (name in SOUND)


def test_a_worker_may_end_by_a_documented_error_alone():
    ledger = Ledger()
    ledger.worker_ended("fanin.queue.rules.errors.SessionLost: the session is over")
    ledger.worker_ended("fanin.errors.StoreUnavailable: timed out")
    assert ledger.errors == []
    ledger.worker_ended("KeyError: 'x'")

    assert ledger.errors == ["worker: RuntimeError: KeyError: 'x'"]
