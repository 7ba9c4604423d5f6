"""Every fault at every request of a small scenario, and a seed that found an error."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from fanin.grouper import Policy
from tests.simulating.faults import CONFLICT, ON_TRANSACTIONS, THROTTLED
from tests.simulation_grouper.scenario import TICK, Wanted, draw
from tests.simulation_grouper.simulation import play, simulate
from tests.simulation_grouper.world import World

LIKE_LOST = (THROTTLED, CONFLICT)
"""Faults that are "lost before" by another name."""
FAULTS = [
    pytest.param(fault, marks=[pytest.mark.proof] if fault in LIKE_LOST else []) for fault in ON_TRANSACTIONS
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_request_may_meet_every_fault(fault):
    number, requests = 0, 1
    while number < requests:
        outcome = struck_once(number, fault)
        requests = max(requests, outcome.requests.total())

        assert outcome.violation is None, f"{fault.name} at request {number}: {outcome.violation}"
        number += 1
    assert requests > 40


def struck_once(number, fault):
    """A run of four tasks, one of them poison, in which one request meets one fault."""
    tasks = tuple(
        Wanted(
            f"task-{n}", "A", TICK * n, callers=1, patience=3, priority=0, poison="refuse" if n == 2 else ""
        )
        for n in range(4)
    )
    policy = Policy(max_size=3, max_attempts=4)
    quiet = replace(draw(Random(0)), tasks=tasks, policy=policy, chunk=2, rounds=2, lag=(0.0, 0.0))
    quiet = replace(
        quiet, fault_count=0, pauses=0, duplicates=0, skew=0.0, jumps=0, failures=0, by_member=False
    )
    world = World(quiet, Random(1), None)
    world.network.struck[number] = fault
    return play(world)


def test_sweeps_go_on_until_a_bundle_in_its_backoff_is_overdue():
    """In this seed the handler of an earlier delivery deletes the message of a bundle that is called, and a
    late copy returns the bundle to READY with a backoff: only the sweeper can send its message again.
    """
    assert simulate(375_197).violation is None
