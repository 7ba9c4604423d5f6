"""A short run of the simulation; ``python -m tests.simulation.run`` does the long one."""

from __future__ import annotations

import pytest

from fanin.tracker import Mode
from tests.simulation.exhaustive import SCENARIOS, explore
from tests.simulation.faults import POSSIBLE
from tests.simulation.mutants import EQUIVALENT, MUTANTS, first_kill
from tests.simulation.run import main, run_seeds
from tests.simulation.simulation import simulate
from tests.simulation.trace import Trace

SEEDS = range(2000)
RACES = range(300)
SEEDS_TO_KILL = range(1000)
SEEDS_TO_SURVIVE = range(40)


@pytest.fixture(scope="module")
def tally():
    return run_seeds(SEEDS)


def test_no_schedule_breaks_a_promise(tally):
    assert tally.violations == []


def test_no_race_breaks_a_promise():
    assert run_seeds(RACES, races=True).violations == []


def test_every_fault_strikes_and_every_request_is_sent(tally):
    assert set(tally.faults) == {fault.name for faults in POSSIBLE.values() for fault in faults}
    assert set(tally.requests) == set(POSSIBLE)
    assert tally.faults.total() > 7 * len(SEEDS)


def test_batches_end_in_every_way_at_every_height(tally):
    assert {"told a closer", "told an ack", "told nobody"} <= set(tally.events)
    assert {f"pages of level {level}" for level in range(4)} <= set(tally.events)
    results = {"succeeded", "completed_with_failures", "cancelled", "timed_out", "expired"}
    ways = {f"{mode} {result}{child}" for mode in Mode for result in results for child in ("", " child")}
    assert ways | {"exact completed_with_failures early"} <= set(tally.events)


def traced(seed):
    trace = Trace()
    simulate(seed, trace)
    return trace.lines


@pytest.mark.parametrize("seed", [3, 20, 77])
def test_a_seed_replays_request_by_request(seed):
    assert traced(seed) == traced(seed) != traced(seed + 1)


def test_a_violation_is_reported_with_the_seed_that_replays_it(capsys):
    mutant = MUTANTS[0]
    kill = first_kill(mutant, SEEDS_TO_KILL)

    kind = ["--races"] if kill.races else []
    with mutant.alive():
        assert main([*kind, "--seeds", "1", "--from", str(kill.seed), "--jobs", "1"]) == 1
    assert f"--replay {kill.seed} --trace" in capsys.readouterr().out


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_the_simulation_notices_a_rule_that_is_gone(mutant):
    assert first_kill(mutant, SEEDS_TO_KILL)


@pytest.mark.parametrize(("mutant", "_reason"), EQUIVALENT, ids=lambda given: getattr(given, "rule", ""))
def test_a_rule_that_another_one_holds_up_may_go(mutant, _reason):
    assert first_kill(mutant, SEEDS_TO_SURVIVE) is None


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_single_disturbance_breaks_a_promise(name):
    assert [found for found in explore(SCENARIOS[name], depth=1) if found[1]] == []


def test_no_two_disturbances_break_a_promise():
    found = list(explore(SCENARIOS["nothing to do"], depth=2))

    assert len(found) > 500
    assert [one for one in found if one[1]] == []
