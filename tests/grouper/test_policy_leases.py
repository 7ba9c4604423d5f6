"""Leases and timeouts of a policy reach leader, handler and sweeper."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.grouper import Answer, Policies, Policy
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
