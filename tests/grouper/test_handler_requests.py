"""The delays, attempts and requests of a bundle's handler, to the second."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.grouper import (
    Answer,
    BundleMessage,
    BundleState,
    Grouper,
    HandledAs,
    Outcome,
    Policy,
    TaskMessage,
    Verdict,
)
from tests.grouper.conftest import Bench
from tests.scripted import Scripted

BUSY = Answer(Outcome(Verdict.RETRY, "busy"))
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


def test_a_late_success_of_a_bundle_that_was_taken_over_is_not_applied():
    bench = sealed()

    def slow(_):
        bench.store.write_bundle(replace(stored(bench), owner="another", version=9))
        return Answer()

    bench.api.says = slow

    assert handle(bench).handled_as is HandledAs.SETTLED
    assert (bench.states("a"), bench.listener.reported) == (["BUNDLED"], [])


@pytest.mark.parametrize(("seconds", "calls"), [(30, 2), (30.1, 1)])
def test_a_call_in_place_ends_before_the_lease_of_the_call(seconds, calls):
    bench = sealed(Policy(in_place=1))
    bench.api.answers = [Answer(BUSY.whole, retry_after=timedelta(seconds=seconds)), Answer()]

    assert handle(bench).calls == calls


def test_a_call_in_place_takes_a_token_of_the_rate():
    bench = sealed(Policy(in_place=3, rate=0.1, burst=2))
    bench.api.answers = [BUSY] * 4

    assert handle(bench).calls == 2


@pytest.mark.parametrize(("rest", "delay"), [(0.2, 1), (1.5, 2), (40, 40)])
def test_a_message_of_a_resting_bundle_waits_for_its_rest_without_jitter(rest, delay):
    bench = sealed()
    bench.store.write_bundle(replace(stored(bench), not_before=bench.clock.at + timedelta(seconds=rest)))

    assert handle(bench).handled_as is HandledAs.WAITING
    assert sent(bench) == [(replace(bench.message, waits=3), delay)]


@pytest.mark.parametrize(("waits", "delay"), [(0, 11), (2, 12), (3, 14), (4, 18), (9, 18)])
def test_a_message_without_a_token_waits_with_jitter_that_grows(waits, delay):
    bench = sealed(Policy(rate=0.1))
    bench.store.put_full_at(replace(stored(bench).lane, shard="rate"), None, bench.clock.at + 10 * SECOND)

    assert handle(bench, waits=waits).handled_as is HandledAs.LIMITED
    assert sent(bench) == [(replace(bench.message, waits=waits + 1), delay)]
    assert bench.api.calls == []


def test_a_bundle_that_is_called_is_stored_with_attempt_owner_and_lease():
    bench = sealed(not_before=Bench().clock.at, attempt=1)
    seen = []
    bench.api.says = lambda _: seen.append(stored(bench)) or Answer()
    handled = handle(bench)

    (calling,) = seen
    assert (calling.state, calling.attempt, calling.not_before) == (BundleState.CALLING, 2, None)
    assert calling.call_until == bench.clock.at + 60 * SECOND
    assert calling.owner not in (None, "")
    assert (handled.handled_as, handled.calls) == (HandledAs.APPLIED, 1)
    assert (stored(bench).state, stored(bench).call_until) == (BundleState.DONE, None)


@pytest.mark.parametrize(("waits", "attempt", "delay"), [(0, 0, 2), (5, 1, 3)])
def test_a_bundle_that_is_put_back_rests_for_its_backoff(waits, attempt, delay):
    bench = sealed(attempt=attempt)
    bench.api.answers = [BUSY]
    handled = handle(bench, waits=waits, swept=True)
    rest = 1.5 * 2**attempt

    assert (handled.handled_as, handled.calls) == (HandledAs.RETRIED, 1)
    assert sent(bench) == [(BundleMessage(bench.message.key, waits + 1), delay)]
    assert (stored(bench).state, stored(bench).call_until) == (BundleState.READY, None)
    assert stored(bench).not_before == bench.clock.at + timedelta(seconds=rest)


NAMED = [Answer(members={"a": Outcome(Verdict.RETRY)}), Answer(BUSY.whole, {"a": Outcome(Verdict.OK)})]


@pytest.mark.parametrize("answer", [Answer(), *NAMED])
def test_only_a_bundle_that_is_retried_as_a_whole_is_called_again_in_place(answer):
    bench = sealed(Policy(in_place=3))
    bench.api.answers = [answer]

    assert handle(bench).calls == 1


def test_a_call_in_place_is_not_made_where_another_took_the_bundle():
    bench = sealed(Policy(in_place=3))
    bench.api.answers = [BUSY] * 4
    written = bench.store.replace_bundle
    bench.stored.scripts["replace_bundle"] = lambda bundle: (
        written(bundle) if bundle.attempt < 2 else replace(bundle, owner="another")
    )

    assert handle(bench).calls == 1


def test_a_member_that_is_retried_waits_for_its_own_backoff():
    bench = sealed(names="ab")
    bench.api.answers = [Answer(members={"a": Outcome(Verdict.RETRY, "locked")})]
    handle(bench)

    assert sent(bench) == [(TaskMessage(bench.task("a").key), 1)]
    assert bench.task("a").due_at == bench.clock.at + timedelta(seconds=0.75)
    assert [task.task_id for task in bench.listener.reported] == ["b"]
