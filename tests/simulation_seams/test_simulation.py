"""A few hundred seeds of the seams, and every broken rule: the long run is ``tests.simulation_seams.run``."""

from __future__ import annotations

from functools import cache

import pytest

from tests.simulating.mutants import kill
from tests.simulating.run import Tally, run_seeds
from tests.simulation_seams.mutants import MUTANTS
from tests.simulation_seams.run import ROOM
from tests.simulation_seams.simulation import simulate

SEEDS = 440
SEEDS_A_MUTANT = 3000


@cache
def short_run() -> Tally:
    """Run the first seeds, once for all tests."""
    return run_seeds(simulate, range(SEEDS))


def test_consumers_batches_owners_and_events_keep_their_promises_together():
    assert short_run().violations == []


def test_the_schedules_go_where_they_say():
    tally = short_run()
    assert min(tally.faults[kind] for kind in ("late copy", "stalled", "lost after", "repeated")) > 0
    assert min(tally.faults[kind] for kind in ("crash before", "crash after", "throttled", "killed")) > 0
    assert min(tally.events[f"handed to a {kind}"] for kind in ("child", "task", "job")) > 0
    assert (
        min(tally.events[kind] for kind in ("poisoned", "dead-letter messages", "lost records", "lost puts"))
        > 0
    )
    assert min(tally.events[kind] for kind in ("callbacks", "webhooks", "tasks resumed", "put at once")) > 0
    assert min(tally.events[kind] for kind in ("deleted", "reopened")) > 0
    assert min(tally.events[f"reported {mark}"] for mark in ("first_failure", "50", "90", "stuck")) > 0
    ends = ("succeeded", "completed_with_failures", "too_many_failures", "cancelled", "timed_out", "expired")
    assert min(tally.events[f"root {end}"] for end in ends) > 0
    assert min(tally.events[f"child {end}"] for end in ends) > 0


def test_a_seed_replays_to_the_letter():
    first: list[str] = []
    again: list[str] = []
    simulate(3, first)
    simulate(3, again)

    assert first
    assert first == again


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_broken_rule_is_noticed(mutant):
    assert kill(ROOM, mutant, SEEDS_A_MUTANT)
