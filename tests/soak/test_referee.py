"""The referee of the soak finds each kind of loss; a sound run breaks no rule."""

from __future__ import annotations

import random
import threading
from collections import Counter

import pytest

from tests.soak import referee
from tests.soak.folding import drawn_log, odd
from tests.soak.ledger import Expected, Ledger

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


ONE = {"a": Expected("direct")}


def test_copies_of_one_event_are_one():
    assert referee.events(ONE, {"a": [event("BatchCompleted", "a:1")] * 2}).holds


@pytest.mark.parametrize(
    "found",
    [
        [],
        [event("BatchTimedOut", "a:1")],
        [event("BatchCompleted", "a:1"), event("BatchCompleted", "a:2")],
        [event("BatchCompleted", "a:1"), event("BatchCancelled", "a:2")],
    ],
)
def test_a_missing_second_or_other_event_is_found(found):
    assert not referee.events(ONE, {"a": found}).holds


def test_a_completion_that_two_callers_got_or_that_never_was_is_found():
    for state, times, holds in (("COMPLETE", 1, True), ("COMPLETE", 2, False), ("CANCELLED", 1, False)):
        ledger = Ledger()
        ledger.opened("a", Expected("direct", state=state))
        for _ in range(times):
            ledger.reported_by_close("a")

        assert referee.reports(ledger).holds is holds


def test_lost_and_odd_tasks_are_found():
    registered = {"t": "x"}

    assert referee.tasks(registered, {}, {"t": {}}).holds
    assert not referee.tasks(registered, {}, {}).holds
    assert not referee.tasks(registered, {"t": "SUCCEEDED, done 2 times"}, {"t": {}}).holds


NONE_LEFT = dict.fromkeys(referee.ENDED_JOBS, 0)


def test_lost_repeated_and_left_jobs_are_found():
    accepted = Counter(k=2)
    twice = [("k", "1", 1), ("k", "2", 1)]

    assert referee.jobs(accepted, twice, NONE_LEFT).holds
    assert not referee.jobs(accepted, twice[:1], NONE_LEFT).holds
    assert not referee.jobs(accepted, [*twice, ("k", "3", 1)], NONE_LEFT).holds
    assert not referee.jobs(accepted, twice, NONE_LEFT | {"inProgress": 1}).holds


def test_dead_letter_queues_have_the_poison_once_and_nothing_else():
    assert referee.dead_letters({"p"}, {"consumers": ["p"], "acks": []}).holds
    for found in ({"consumers": []}, {"consumers": ["p", "p"]}, {"consumers": ["p", "q"]}, {"acks": ["x"]}):
        assert not referee.dead_letters({"p"}, {"consumers": ["p"]} | found).holds


def test_rows_without_a_time_to_live_or_live_beyond_it_are_found():
    ended_row = {"pk": "a", "sk": "batch", "state": "COMPLETE", "ttl": "900"}
    page = {"pk": "a#1", "ttl": "900"}
    sound = {"batches": [ended_row], "pages": [page]}

    assert referee.rows(sound, ONE, NOW).holds
    assert not referee.rows({"batches": [ended_row | {"state": "OPEN"}]}, ONE, NOW).holds
    assert not referee.rows({"batches": [{"pk": "a", "sk": "batch"}]}, ONE, NOW).holds
    assert not referee.rows({"pages": [{"pk": "a"}]}, ONE, NOW).holds


def test_metrics_add_up_but_for_killed_invocations():
    counts = {"BatchesOpened": 10, "ItemsAdded": 100, "BatchesCompleted": 10}

    assert referee.metrics(counts, counts, {}).holds
    assert not referee.metrics(counts, counts | {"ItemsAdded": 99}, {}).holds
    assert not referee.metrics(counts, {}, {"ItemsAdded": 100}).holds
    assert referee.metrics(counts, counts | {"ItemsAdded": 60}, {"ItemsAdded": 40}).holds
    assert not referee.metrics(counts, counts | {"BatchesCompleted": 8}, {"BatchesCompleted": 2}).holds
    assert referee.metrics(counts, counts | {"BatchesCompleted": 8}, {referee.ENDED: 2}).holds


def test_only_requests_that_were_repeated_are_in_doubt():
    ledger = Ledger()
    ledger.repeat()
    with ledger.doubting("ItemsAdded", 60):
        ledger.repeat()
        ledger.repeat()
    with ledger.doubting("BatchesOpened"):
        threading.Thread(target=ledger.repeat).start()

    assert ledger.doubts["ItemsAdded"] == 120
    assert ledger.doubts["BatchesOpened"] == 0


def test_memory_that_grows_to_the_end_is_found_and_a_warm_start_is_not():
    warm = [(float(at), 100.0 + min(at, 100) * 3) for at in range(0, 300, 10)]

    assert referee.memory("it", warm).holds
    assert not referee.memory("it", [(at, 100.0 + at) for at, _ in warm]).holds
    assert not referee.memory("it", warm[:3]).holds
    assert "+0.0 MB by least squares over the last 3 minutes" in referee.memory("it", warm).seen


def test_errors_of_the_load_are_broken_rules():
    ledger = Ledger()
    ledger.failed_with("direct", TimeoutError("late"))

    assert referee.errors(ledger).broken == ("direct: TimeoutError: late",)
    assert "1 broken" in referee.errors(ledger).seen


def test_a_spark_round_that_counts_otherwise_or_did_not_run_is_found():
    log = drawn_log([f"item-{number}" for number in range(300)], random.Random(1))
    acked = {"fresh": 200, "failed": 6}
    saved = {"rows": 300, "outstanding": 100, "failed": 6}
    ledger = Ledger()

    assert odd(log, acked, saved) == []
    assert len(odd(log, acked | {"fresh": 199}, saved | {"outstanding": 101})) == 2
    assert len({*log.acked, *log.failed, *log.left}) == 300
    assert not referee.spark(ledger).holds
    ledger.happened("Spark round: well")
    assert referee.spark(ledger).holds
    ledger.folds += ["bulk_ack: fresh 199, not 200"]
    assert not referee.spark(ledger).holds


def test_a_worker_may_end_by_a_documented_error_alone():
    ledger = Ledger()
    ledger.worker_ended("fanin.queue.rules.errors.SessionLost: the session is over")
    ledger.worker_ended("fanin.errors.StoreUnavailable: timed out")
    assert ledger.errors == []
    ledger.worker_ended("KeyError: 'x'")

    assert ledger.errors == ["worker: RuntimeError: KeyError: 'x'"]
