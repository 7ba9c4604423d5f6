"""Leases and timeouts of a policy reach leader, handler and sweeper."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.grouper import Answer, BundleState, Outcome, Policies, Policy, Verdict
from tests.grouper.conftest import TENANT, Bench

LONG = Policy(
    lease=timedelta(seconds=200), call_lease=timedelta(seconds=800), call_timeout=timedelta(seconds=300)
)


def bench_of(policy):
    """A bench on which *policy* is that of one target, and another has the default."""
    bench = Bench()
    object.__setattr__(bench.world, "policies", Policies((("search", policy),), Policy(max_size=3)))
    return bench


@pytest.mark.parametrize(("target", "seconds"), [("search", 200), ("mail", 15)])
def test_a_leader_holds_its_lane_for_the_lease_of_its_policy(target, seconds):
    bench = bench_of(LONG)
    bench.register("a", target=target)
    bench.step()
    (lease,) = bench.store.leases.values()

    assert lease.until == bench.clock.at + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("target", "lease", "timeout", "longest"), [("search", 800, 300, 400), ("mail", 60, None, 30)]
)
def test_a_call_has_the_lease_and_the_timeout_of_its_policy(target, lease, timeout, longest):
    bench = bench_of(LONG)
    bench.register("a", target=target)
    bench.step()
    seen = []

    def look(call):
        seen.append(bench.grouper.bundle(TENANT, call.bundle_id).call_until)
        return Answer()

    bench.api.says = look
    bench.step()
    (call,) = bench.api.calls

    assert seen == [bench.clock.at + timedelta(seconds=lease)]
    assert call.timeout == (None if timeout is None else timedelta(seconds=timeout))
    assert call.longest == timedelta(seconds=longest)


def test_a_call_in_place_fits_into_the_lease_of_its_policy():
    short = Policy(call_lease=timedelta(seconds=10), in_place=5)
    calls = []
    for policy in (short, Policy(in_place=5)):
        bench = bench_of(policy)
        bench.api.says = lambda _call: Answer(
            Outcome(Verdict.RETRY, "busy"), retry_after=timedelta(seconds=6)
        )
        bench.register("a")
        bench.step()
        bench.step()
        calls.append(len(bench.api.calls))

    assert calls == [1, 6]


@pytest.mark.parametrize(("target", "waits"), [("search", 400), ("mail", 30)])
def test_the_sweeper_waits_for_two_leases_of_the_policy(target, waits):
    bench = bench_of(LONG)
    bench.register("a", target=target)
    bench.step()
    bench.queue.waiting.clear()
    (bundle,) = bench.store.bundles.values()
    bench.clock.advance(seconds=waits - 1)
    early = bench.grouper.sweep().bundles
    bench.clock.advance(seconds=2)

    assert (bundle.state, early, bench.grouper.sweep().bundles) == (BundleState.READY, 0, 1)


@pytest.mark.parametrize(("target", "waits"), [("search", 401), ("mail", 31)])
def test_the_sweeper_leaves_a_waiting_task_for_two_leases_of_its_policy(target, waits):
    bench = bench_of(LONG)
    bench.register("a", target=target)
    bench.queue.waiting.clear()
    bench.clock.advance(seconds=waits - 1)
    early = bench.grouper.sweep().lanes
    bench.clock.advance(seconds=1)

    assert (early, bench.grouper.sweep().lanes) == (0, 1)
