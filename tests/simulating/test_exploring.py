"""The explorer, on a small machine, and a slice of what each simulator explores."""

from __future__ import annotations

import pytest

from tests.simulating.exploring import explore, first_broken
from tests.simulating.room import Outcome
from tests.simulation import exhaustive as tracker
from tests.simulation import mutants as tracker_mutants
from tests.simulation_grouper import exhaustive as grouper
from tests.simulation_grouper import mutants as grouper_mutants
from tests.simulation_queue import exhaustive as queue
from tests.simulation_queue import mutants as queue_mutants
from tests.simulation_seams import exhaustive as seams
from tests.simulation_seams import mutants as seams_mutants

SLICE = (
    (grouper, "one task"),
    (grouper, "a rate"),
    (queue, "one job"),
    (queue, "a job that dies"),
    (seams, "an item that a task owns"),
    (seams, "a batch that calls back"),
)
MUTANTS = (
    (tracker, tracker_mutants, "nothing to do", "the stored caller is notified, not each that asks"),
    (queue, queue_mutants, "one job", "only a ready job is claimed"),
    (queue, queue_mutants, "one job", "the outcome and the end are one transaction"),
    (queue, queue_mutants, "one job", "a claim that timed out is looked for"),
)
DEAR = (
    (grouper, grouper_mutants, "a bundle that is taken apart", "no isolation after a refusal"),
    (grouper, grouper_mutants, "a bundle that is taken apart", "no per-task condition in the claim"),
    (
        seams,
        seams_mutants,
        "a child whose event is put at once",
        "an item of a batch that is over is not worked on",
    ),
)
"""Rules that tests/simulating/test_smoke.py breaks, too."""


def play(script, lines=None):
    """Three decisions of two other ways each; the fourth comes only after the first was disturbed."""
    first, _, _ = [script.decide(2) for _ in range(3)]
    if first:
        script.decide(1)
    return Outcome(None)


def test_every_placement_of_up_to_two_disturbances_is_run_once():
    runs = [tuple(sorted(each.items())) for each, _ in explore(play, depth=2)]

    assert len(runs) == len(set(runs)) == 1 + 6 + 3 * 2 * 2 + 2
    assert ((0, 2), (3, 1)) in runs
    assert [each for each, _ in explore(play, depth=0)] == [{}]


@pytest.mark.parametrize(("room", "name"), SLICE, ids=lambda value: getattr(value, "__name__", value))
def test_no_single_disturbance_breaks_a_promise(room, name):
    assert first_broken(room.PLAYS[name], depth=1) is None


@pytest.mark.parametrize(
    ("room", "module", "name", "rule"),
    [*MUTANTS, *(pytest.param(*each, marks=pytest.mark.proof) for each in DEAR)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_one_disturbance_shows_that_a_rule_is_gone(room, module, name, rule):
    mutant = next(each for each in module.MUTANTS if each.rule == rule)
    with mutant.alive():
        assert first_broken(room.PLAYS[name], depth=1)
