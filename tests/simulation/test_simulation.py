"""A short run of the simulation; ``python -m tests.simulation.run`` does the long one."""

from __future__ import annotations

import pytest

from fanin.tracker import Mode
from tests.simulating.exploring import explore, first_broken
from tests.simulating.mutants import first_kill, kill
from tests.simulating.run import run_seeds
from tests.simulation.exhaustive import PLAYS
from tests.simulation.mutants import EQUIVALENT, MUTANTS
from tests.simulation.possible import POSSIBLE
from tests.simulation.run import ROOM
from tests.simulation.simulation import race, simulate

SEEDS = range(1000)
RACES = range(300)
SEEDS_TO_KILL = 1000
SEEDS_TO_SURVIVE = 40


@pytest.fixture(scope="module")
def tally():
    return run_seeds(simulate, SEEDS)


def test_no_schedule_breaks_a_promise(tally):
    assert tally.violations == []


def test_no_race_breaks_a_promise():
    assert run_seeds(race, RACES).violations == []


SENT_BY_THE_CALLERS = {"is_put", "mark_put"}
"""Requests about an event that was put at once, which the seams' simulator sends."""


def test_every_fault_strikes_and_every_request_is_sent(tally):
    assert set(tally.faults) == {fault.name for faults in POSSIBLE.values() for fault in faults}
    assert set(tally.requests) == set(POSSIBLE) - SENT_BY_THE_CALLERS
    assert tally.faults.total() > 7 * len(SEEDS)


def test_batches_end_in_every_way_at_every_height(tally):
    assert {"told a closer", "told an ack", "told nobody"} <= set(tally.events)
    assert {f"pages of level {level}" for level in range(4)} <= set(tally.events)
    results = {"succeeded", "completed_with_failures", "cancelled", "timed_out", "expired"}
    ways = {f"{mode} {result}{child}" for mode in Mode for result in results for child in ("", " child")}
    assert ways | {"exact too_many_failures"} <= set(tally.events)


def traced(seed):
    lines = []
    simulate(seed, lines)
    return lines


@pytest.mark.parametrize("seed", [3, 20, 77])
def test_a_seed_replays_request_by_request(seed):
    assert traced(seed) == traced(seed) != traced(seed + 1)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_the_simulation_notices_a_rule_that_is_gone(mutant):
    assert kill(ROOM, mutant, SEEDS_TO_KILL)


@pytest.mark.parametrize(("mutant", "_reason"), EQUIVALENT, ids=lambda given: getattr(given, "rule", ""))
def test_a_rule_that_another_one_holds_up_may_go(mutant, _reason):
    assert first_kill(ROOM, mutant, SEEDS_TO_SURVIVE) is None


@pytest.mark.parametrize("name", PLAYS)
def test_no_single_disturbance_breaks_a_promise(name):
    assert first_broken(PLAYS[name], depth=1) is None


def test_no_two_disturbances_break_a_promise():
    found = list(explore(PLAYS["nothing to do"], depth=2))

    assert len(found) > 500
    assert [one for one in found if one[1].violation] == []
