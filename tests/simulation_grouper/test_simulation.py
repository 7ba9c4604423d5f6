"""A few seeds and every mutant; the long run is ``python -m tests.simulation_grouper.run``."""

from __future__ import annotations

import pytest

from tests.simulation_grouper import run
from tests.simulation_grouper.mutants import EQUIVALENT, MUTANTS, first_kill
from tests.simulation_grouper.run import run_seeds
from tests.simulation_grouper.simulation import simulate

SEEDS = 250


@pytest.fixture(scope="module")
def tally():
    return run_seeds(range(SEEDS))


def test_no_schedule_of_faults_breaks_a_promise(tally):
    assert tally.violations == []


def test_every_kind_of_fault_and_of_ending_was_met(tally):
    faults = {"throttled", "lost before", "lost after", "repeated", "late copy", "stalled", "pause"}
    endings = {"tasks succeeded", "tasks failed", "tasks dead", "voids", "calm runs", "bundles failed"}

    assert faults | {"crash before", "crash after"} <= set(tally.faults)
    assert endings <= set(tally.events)


def test_a_seed_is_the_same_run_each_time():
    first, again = [], []
    simulate(7, first)
    simulate(7, again)

    assert first == again
    assert first


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_broken_rule_is_noticed(mutant):
    kill = first_kill(mutant, range(2_000))

    assert kill is not None
    assert kill.invariant != "error"


@pytest.mark.parametrize("mutant", EQUIVALENT, ids=lambda mutant: mutant.rule)
def test_a_rule_that_only_saves_time_breaks_nothing_when_it_is_gone(mutant):
    assert first_kill(mutant, range(60)) is None


def test_the_command_runs_seeds_and_replays_one(capsys):
    assert run.main(["--seeds", "3", "--from", "10", "--jobs", "1"]) == 0
    assert run.main(["--replay", "10"]) == 0
    assert "seed 10: no violation" in capsys.readouterr().out
