"""Calling the batch API and applying what it said."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import (
    Answer,
    BundleMessage,
    BundleState,
    HandledAs,
    Outcome,
    Policy,
    Timing,
    Verdict,
)
from tests.grouper.conftest import TENANT, Bench

BUSY = Answer(Outcome(Verdict.RETRY, "busy"))
REFUSED = Answer(Outcome(Verdict.FAIL, "refused"))


def poisoned(names):
    """An API that refuses every bundle with one of *names* in it."""

    def call(bench, call):
        bench.api.calls.append(call)
        return REFUSED if {member.task_id for member in call.members} & names else Answer()

    return call


def with_poison(bench, *names):
    answer = poisoned(set(names))
    bench.api.call = lambda call: answer(bench, call)
    return bench


def test_the_api_gets_the_payloads_and_the_bundles_id_as_key(bench):
    bench.register("a", "b")
    bench.drain()
    (call,) = bench.api.calls

    assert [(m.task_id, m.payload) for m in call.members] == [("a", "a"), ("b", "b")]
    assert (call.tenant, call.target, call.attempt) == (TENANT, "search", 1)
    assert call.idempotency_key == call.bundle_id == bench.task("a").bundle_id


def test_a_failed_bundle_that_could_not_be_ended_is_reported_again(bench, monkeypatch):
    with_poison(bench, "a")
    bench.register("a")
    replaced, lost = bench.store.replace_bundle, []

    def lose_the_end(bundle):
        if bundle.state is BundleState.FAILED and not lost:
            lost.append(bundle)
            raise StoreUnavailable("lost")
        return replaced(bundle)

    monkeypatch.setattr(bench.store, "replace_bundle", lose_the_end)
    with pytest.raises(StoreUnavailable):
        bench.drain()
    message = BundleMessage(lost[0].key)
    bench.grouper.handle(message, bench.api, bench.listener, bench.listener.failed.append)

    assert [bundle.bundle_id for bundle in bench.listener.failed] == [lost[0].bundle_id] * 2
    assert bench.grouper.bundle(TENANT, lost[0].bundle_id).state is BundleState.FAILED


def test_success_ends_tasks_and_bundle_and_is_reported(bench):
    bench.register("a", "b")
    bench.drain()

    assert bench.states("a", "b") == ["SUCCEEDED"] * 2
    assert bench.grouper.bundle(TENANT, bench.task("a").bundle_id).state is BundleState.DONE
    assert sorted(task.task_id for task in bench.listener.reported) == ["a", "b"]


def test_a_bundle_that_is_to_be_retried_comes_back_later_under_the_same_key(bench):
    bench.register("a", "b")
    bench.api.answers = [BUSY, BUSY]
    bench.drain()

    assert [call.attempt for call in bench.api.calls] == [1, 2, 3]
    assert len({call.idempotency_key for call in bench.api.calls}) == 1
    assert bench.states("a", "b") == ["SUCCEEDED"] * 2


def test_each_member_goes_where_its_own_outcome_sends_it(bench):
    bench.register("a", "b", "c")
    named = {"b": Outcome(Verdict.FAIL, "no such page"), "c": Outcome(Verdict.RETRY, "locked")}
    bench.api.answers = [Answer(members=named)]
    bench.drain()

    assert bench.called() == [["a", "b", "c"], ["c"]]
    assert bench.states("a", "b", "c") == ["SUCCEEDED", "FAILED", "SUCCEEDED"]
    assert bench.task("b").detail == "no such page"
    assert bench.task("c").attempts == 1


def test_a_refused_bundle_is_taken_apart_and_only_the_poison_fails(bench):
    with_poison(bench, "b").register("a", "b", "c")
    bench.drain()

    assert bench.called()[0] == ["a", "b", "c"]
    assert sorted(bench.called()[1:]) == [["a"], ["b"], ["c"]]
    assert bench.states("a", "b", "c") == ["SUCCEEDED", "FAILED", "SUCCEEDED"]
    assert bench.task("b").detail == "refused"


def test_attempts_of_handlers_that_died_count(bench):
    bench.register("a")
    bench.step()
    message = bench.queue.receive()
    bench.api.call = dying
    for _ in range(3):
        with pytest.raises(RuntimeError):
            bench.grouper.handle(message, bench.api, bench.listener)
        bench.clock.advance(seconds=61)
    handled = bench.grouper.handle(message, bench.api, bench.listener)

    assert handled.handled_as is HandledAs.APPLIED
    assert bench.states("a") == ["DEAD"]


def dying(call):
    raise RuntimeError("the process is gone")


def test_a_recorded_outcome_is_applied_by_the_next_handler_without_another_call(bench):
    bench.register("a", "b")
    bench.step()
    bench.step()
    message = bench.queue.receive()
    bench.listener.notify = unavailable
    with pytest.raises(StoreUnavailable):
        bench.grouper.handle(message, bench.api, bench.listener)
    received = []
    bench.listener.notify = received.extend
    handled = bench.grouper.handle(message, bench.api, bench.listener)

    assert (handled.handled_as, len(bench.api.calls)) == (HandledAs.APPLIED, 1)
    assert [task.task_id for task in received] == ["a", "b"]


def unavailable(tasks):
    raise StoreUnavailable("the bus is out of reach")


def test_a_bundle_that_is_over_is_not_touched_again(bench):
    bench.register("a")
    bench.drain()
    key = bench.grouper.bundle(TENANT, bench.task("a").bundle_id).key
    handled = bench.grouper.handle(BundleMessage(key), bench.api, bench.listener)

    assert (handled.handled_as, len(bench.api.calls)) == (HandledAs.SETTLED, 1)


def test_a_retry_in_place_needs_no_queue():
    bench = Bench(Policy(in_place=2, max_attempts=5))
    bench.register("a")
    bench.api.answers = [BUSY, BUSY]
    bench.step()
    handled = bench.step()

    assert (handled.handled_as, handled.calls) == (HandledAs.APPLIED, 3)
    assert [call.attempt for call in bench.api.calls] == [1, 2, 3]
    assert len(bench.pauses) == 2


def test_a_member_that_was_registered_anew_is_left_out_and_called_in_its_own_bundle(bench):
    """Its bundle was stuck until both expired, and time to live deleted neither."""
    bench.register("a", "b")
    bench.step()
    old = bench.task("a").bundle_id
    bench.clock.advance(days=21)
    bench.register("a")
    bench.drain()
    calls = {call.bundle_id: [member.task_id for member in call.members] for call in bench.api.calls}

    assert calls.pop(old) == ["b"]
    assert list(calls.values()) == [["a"]]
    assert bench.states("a", "b") == ["SUCCEEDED", "SUCCEEDED"]


def test_a_target_is_called_at_its_rate_across_bundles():
    bench = Bench(Policy(max_size=1, rate=0.5, burst=2))
    bench.register(*"abcdef")
    moments = []
    bench.api.call = lambda call: moments.append(bench.clock.at) or Answer()
    bench.drain()
    seconds = [(at - moments[0]).total_seconds() for at in moments]

    assert len(seconds) == 6
    assert all(later - first >= 2 * (n - 1) for n, later in enumerate(seconds) for first in seconds[:1])


@pytest.mark.parametrize("steps", [1, 2])
def test_the_sweeper_wakes_a_bundle_whose_message_was_lost(bench, steps):
    bench.register("a")
    bench.api.answers = [BUSY]
    for _ in range(steps):
        bench.step()
    bench.queue.waiting.clear()
    bench.clock.advance(seconds=33)
    swept = bench.grouper.sweep()
    bench.drain()

    assert swept.bundles == 1
    assert bench.states("a") == ["SUCCEEDED"]


def test_the_sweeper_seals_a_bundle_whose_leader_died(bench):
    bench.register("a", "b")
    bench.store.seal = unavailable
    with pytest.raises(StoreUnavailable):
        bench.step()
    del bench.store.seal
    bench.queue.waiting.clear()
    bench.clock.advance(seconds=33)

    assert bench.grouper.sweep().bundles == 1
    bench.drain()
    assert bench.states("a", "b") == ["SUCCEEDED"] * 2


def test_the_sweeper_lets_those_be_who_rest_or_are_worked_on():
    bench = Bench(Policy(linger=timedelta(seconds=60), max_delay=timedelta(seconds=60)), Timing())
    bench.register("a")
    bench.clock.advance(seconds=59)

    assert bench.grouper.sweep().lanes == 0
    bench.api.answers = [Answer(Outcome(Verdict.RETRY), retry_after=timedelta(seconds=500))]
    bench.step()
    bench.step()
    bench.clock.advance(seconds=400)
    assert bench.grouper.sweep().bundles == 0
