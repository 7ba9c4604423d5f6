"""A few seeds of the simulation of a raise, and every broken rule; ``run`` has the long run."""

from __future__ import annotations

import pytest

from tests.simulating.mutants import kill
from tests.simulating.run import run_seeds
from tests.simulation_parts.mutants import MUTANTS
from tests.simulation_parts.run import ROOM
from tests.simulation_parts.simulation import simulate

SEEDS = 40
SEEDS_A_MUTANT = 2000


@pytest.fixture(scope="module")
def tally():
    return run_seeds(simulate, range(SEEDS))


def test_no_schedule_breaks_a_promise(tally):
    assert tally.violations == []


def test_the_schedules_go_where_they_say(tally):
    assert min(tally.faults[kind] for kind in ("late copy", "stalled", "lost after", "repeated")) > 0
    assert min(tally.faults[kind] for kind in ("paused", "crash before", "crash after", "throttled")) > 0
    assert min(tally.events[kind] for kind in ("rejected", "revived", "repeated adds", "marks deleted")) > 0
    assert min(tally.requests[name] for name in ("move", "page", "rerun", "revive")) > 0


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_broken_rule_is_noticed(mutant):
    assert kill(ROOM, mutant, SEEDS_A_MUTANT)
