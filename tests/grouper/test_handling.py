"""Calling the batch API and applying what it said: the delays, attempts and requests, to the second."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import (
    Answer,
    BundleMessage,
    BundleState,
    Grouper,
    HandledAs,
    Outcome,
    Policy,
    TaskMessage,
    Timing,
    Verdict,
)
from tests.grouper.conftest import TENANT, Bench
from tests.scripted import Scripted

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


def test_a_retry_in_place_needs_no_queue():
    bench = Bench(Policy(in_place=2, max_attempts=5))
    bench.register("a")
    bench.api.answers = [BUSY, BUSY]
    bench.step()
    handled = bench.step()

    assert (handled.handled_as, handled.calls) == (HandledAs.APPLIED, 3)
    assert [call.attempt for call in bench.api.calls] == [1, 2, 3]
    assert len(bench.pauses) == 2


def test_the_message_of_a_bundle_that_is_gone_or_has_ended_is_settled_without_a_call(bench):
    bench.register("a")
    bench.drain()
    key = bench.grouper.bundle(TENANT, bench.task("a").bundle_id).key
    ended = bench.grouper.handle(BundleMessage(key), bench.api, bench.listener)
    bench.store.bundles.clear()
    gone = bench.grouper.handle(BundleMessage(key), bench.api, bench.listener)

    handled = [ended.handled_as, gone.handled_as]
    assert (handled, len(bench.api.calls)) == ([HandledAs.SETTLED] * 2, 1)


@pytest.mark.parametrize("is_bundled", [False, True])
def test_a_member_that_was_registered_anew_is_left_out_and_called_in_its_own_bundle(bench, is_bundled):
    """Its bundle was stuck until both expired, and time to live deleted neither."""
    bench.register("a", "b")
    bench.step()
    old = bench.task("a").bundle_id
    bench.clock.advance(days=21)
    bench.register("a")
    if is_bundled:
        bench.clock.advance(seconds=60)
        bench.grouper.lead(TaskMessage(bench.task("a").key))
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


SECOND = timedelta(seconds=1)


def sealed(policy=None, names="a", **facts):
    """A bench with one bundle of *names*, its message, and its store's requests noted."""
    bench = Bench(*([policy] if policy else []))
    bench.register(*names)
    bench.step()
    (bundle,) = bench.store.bundles.values()
    if facts:
        bench.store.bundles[bundle.key] = replace(bundle, **facts)
    bench.queue.waiting.clear()
    bench.queue.sent.clear()
    bench.stored = Scripted(bench.store)
    bench.grouper = Grouper(replace(bench.world, store=bench.stored))
    bench.message = BundleMessage(bundle.key, waits=2)
    return bench


def handle(bench, **facts):
    message = replace(bench.message, **facts)
    return bench.grouper.handle(message, bench.api, bench.listener, bench.listener.failed.append)


def sent(bench):
    return [(posting.message, posting.delay) for posting in bench.queue.sent]


def stored(bench):
    return bench.store.bundle(bench.message.key)


def test_a_message_of_the_sweeper_is_dropped_where_it_would_wait():
    bench = sealed()
    bench.stored.scripts["replace_bundle"] = lambda bundle: replace(bundle, owner="another")

    assert handle(bench, swept=True).handled_as is HandledAs.DROPPED
    assert sent(bench) == []


@pytest.mark.parametrize(("seconds", "calls"), [(30, 2), (30.1, 1)])
def test_a_call_in_place_ends_before_the_lease_of_the_call(seconds, calls):
    bench = sealed(Policy(in_place=1))
    bench.api.answers = [Answer(BUSY.whole, retry_after=timedelta(seconds=seconds)), Answer()]

    assert handle(bench).calls == calls


def test_a_call_in_place_takes_a_token_of_the_rate():
    bench = sealed(Policy(in_place=3, rate=0.1, burst=2))
    bench.api.answers = [BUSY] * 4

    assert handle(bench).calls == 2


@pytest.mark.parametrize(("backoff", "delay"), [(0.2, 1), (1.5, 2), (40, 40)])
def test_a_message_of_a_resting_bundle_waits_for_its_rest_without_jitter(backoff, delay):
    bench = sealed()
    bench.store.write_bundle(replace(stored(bench), not_before=bench.clock.at + timedelta(seconds=backoff)))

    assert handle(bench).handled_as is HandledAs.WAITING
    assert sent(bench) == [(replace(bench.message, waits=3), delay)]


@pytest.mark.parametrize(("waits", "delay"), [(0, 11), (2, 12), (3, 14), (4, 18), (9, 18)])
def test_a_message_without_a_token_waits_with_jitter_that_grows(waits, delay):
    bench = sealed(Policy(rate=0.1))
    bench.store.put_full_at(replace(stored(bench).lane, shard="rate"), None, bench.clock.at + 10 * SECOND)

    assert handle(bench, waits=waits).handled_as is HandledAs.LIMITED
    assert sent(bench) == [(replace(bench.message, waits=waits + 1), delay)]
    assert bench.api.calls == []


@pytest.mark.parametrize(("waits", "attempt", "delay"), [(0, 0, 2), (5, 1, 3)])
def test_a_bundle_that_is_put_back_rests_for_its_backoff(waits, attempt, delay):
    bench = sealed(attempt=attempt)
    bench.api.answers = [BUSY]
    handled = handle(bench, waits=waits, swept=True)
    backoff = 1.5 * 2**attempt

    assert (handled.handled_as, handled.calls) == (HandledAs.RETRIED, 1)
    assert sent(bench) == [(BundleMessage(bench.message.key, waits + 1), delay)]
    assert (stored(bench).state, stored(bench).call_until) == (BundleState.READY, None)
    assert stored(bench).not_before == bench.clock.at + timedelta(seconds=backoff)


NAMED = [Answer(members={"a": Outcome(Verdict.RETRY)}), Answer(BUSY.whole, {"a": Outcome(Verdict.OK)})]


@pytest.mark.parametrize("answer", [Answer(), *NAMED])
def test_only_a_bundle_that_is_retried_as_a_whole_is_called_again_in_place(answer):
    bench = sealed(Policy(in_place=3))
    bench.api.answers = [answer]

    assert handle(bench).calls == 1


def test_a_member_that_is_retried_waits_for_its_own_backoff():
    bench = sealed(names="ab")
    bench.api.answers = [Answer(members={"a": Outcome(Verdict.RETRY, "locked")})]
    handle(bench)

    assert sent(bench) == [(TaskMessage(bench.task("a").key), 1)]
    assert bench.task("a").due_at == bench.clock.at + timedelta(seconds=0.75)
    assert [task.task_id for task in bench.listener.reported] == ["b"]


@pytest.mark.parametrize(("lost", "handled_as"), [(3, HandledAs.APPLIED), (4, HandledAs.LIMITED)])
def test_a_token_that_others_take_first_is_tried_for_four_times(lost, handled_as):
    bench = sealed(Policy(rate=1.0))
    refused = iter(range(lost))
    bench.stored.scripts["put_full_at"] = lambda *asked: (
        next(refused, None) is None and bench.store.put_full_at(*asked)
    )

    assert handle(bench).handled_as is handled_as
    assert len(bench.api.calls) == (handled_as is HandledAs.APPLIED)
    assert [delay for _, delay in sent(bench)] == ([] if bench.api.calls else [3])


@pytest.mark.parametrize(("seconds", "read"), [(29, 0), (31, 1)])
def test_a_sweep_reads_only_bundles_that_are_old_enough_to_be_overdue(seconds, read):
    bench = sealed()
    bench.clock.advance(seconds=seconds)
    bench.grouper.sweep()

    assert len(bench.stored.of("bundle")) == read
