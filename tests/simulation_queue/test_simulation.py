"""A few seeds of the simulation, and every broken rule: the long run is ``tests.simulation_queue.run``."""

from __future__ import annotations

import pytest

from tests.simulating.mutants import kill
from tests.simulating.run import run_seeds
from tests.simulation_queue.mutants import MUTANTS
from tests.simulation_queue.run import ROOM
from tests.simulation_queue.simulation import simulate

SEEDS = 150
SEEDS_A_MUTANT = 2000


@pytest.fixture(scope="module")
def tally():
    return run_seeds(simulate, range(SEEDS))


def test_no_schedule_breaks_a_promise(tally):
    assert tally.violations == []


def test_the_schedules_go_where_they_say(tally):
    assert min(tally.faults[kind] for kind in ("late copy", "stalled", "lost after", "repeated")) > 0
    assert min(tally.faults[kind] for kind in ("paused", "crash before", "crash after", "throttled")) > 0
    assert min(tally.events[kind] for kind in ("lost claims", "closed", "visits", "sweeps", "rejected")) > 0
    assert min(tally.events[kind] for kind in ("job deleted", "job inProgress", "removals", "removed")) > 0
    assert min(tally.requests[kind] for kind in ("ring", "receive", "unring")) > 0
    assert tally.faults["clock set"] > 0
    assert min(tally.events[kind] for kind in ("revived", "came again", "repeated adds", "marks deleted")) > 0


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
