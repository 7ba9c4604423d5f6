"""Terms of a lane: how each follows from the last, the longest of all, and when it is too early to lead."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.grouper import LeadOutcome, Policies, Policy
from tests.grouper.conftest import Bench

SHORT = Policy(lease=timedelta(seconds=5), call_lease=timedelta(seconds=10))
LONG = Policy(lease=timedelta(seconds=200), call_lease=timedelta(seconds=800))


@pytest.mark.parametrize(
    "policies",
    [
        Policies([("a", LONG), ("b", SHORT)]),
        Policies([("b", SHORT), ("a", LONG)]),
        Policies([("b", SHORT)], LONG),
    ],
    ids=["first", "last", "default"],
)
def test_the_longest_leases_are_those_of_any_policy(policies):
    assert policies.longest_lease == timedelta(seconds=200)
    assert policies.longest_call_lease == timedelta(seconds=800)


def test_the_message_of_a_task_in_backoff_waits_until_it_is_due(bench):
    (task,) = bench.register("a")
    bench.store.write_task(replace(task, due_at=bench.clock.at + timedelta(seconds=120)))
    result = bench.grouper.lead(bench.queue.waiting[0][1].message)

    assert result.outcome is LeadOutcome.WAITING
    assert bench.queue.sent[-1].delay == 120
    assert not bench.store.leases


@pytest.mark.parametrize(("shown", "outcome"), [(True, LeadOutcome.LED), (False, LeadOutcome.WAITING)])
def test_a_bundle_of_one_is_full_once_the_index_shows_its_task(shown, outcome):
    bench = Bench(Policy(max_size=1, linger=timedelta(), max_delay=timedelta(seconds=10)))
    bench.register("a")
    if not shown:
        bench.store.shown_tasks = lambda: []

    assert bench.step().outcome is outcome
