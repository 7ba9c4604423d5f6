"""The delays, attempts and requests of a bundle's handler, to the second; and of the leader before it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.grouper import (
    Answer,
    BundleMessage,
    Grouper,
    HandledAs,
    Outcome,
    Policy,
    Verdict,
)
from tests.grouper.conftest import Bench
from tests.scripted import Scripted

BUSY = Answer(Outcome(Verdict.RETRY, "busy"))


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
