"""Some recorded histories of each capability; ``make proof`` checks 50,000."""

from __future__ import annotations

import functools

import pytest

from tests.histories import grouper_spec, queue_spec, run, tracker_spec
from tests.simulating.run import run_seeds
from tests.simulation import mutants as tracker_mutants
from tests.simulation_grouper import mutants as grouper_mutants
from tests.simulation_queue import mutants as queue_mutants

SPECS = {"tracker": tracker_spec, "grouper": grouper_spec, "queue": queue_spec}
SEEDS = {"tracker": 80, "grouper": 40, "queue": 20}
SEEDS_TO_KILL = 60
SELDOM = {"a receipt is found after close", "a compacted leaf has nothing outstanding"}
"""Rules that few histories break: `make proof` looks for one."""
MUTANTS = {
    "tracker": (
        tracker_mutants,
        "a page is full at its size",
        "the stored caller is notified, not each that asks",
        "a caller has one name for all its attempts",
        "a reservation wants the total it saw",
        "a reservation wants no earlier receipt",
        "a retried add has the key it had",
        "a receipt is found after close",
        "two acks of an item in one request: one accepted",
        "close climbs",
        "success heals a failure",
        "failures lie under full pages too",
        "a compacted leaf has nothing outstanding",
    ),
    "grouper": (
        grouper_mutants,
        "no fence",
        "the index is trusted",
        "a task expires while its bundle is worked on",
    ),
    "queue": (
        queue_mutants,
        "all of them (the naive port)",
        "a claim is unique for ever",
        "a done job leaves a mark",
    ),
}
CAUSES = {
    "one of two actors of one name repeats a request": (
        3613, 8002, 8407, 13147, 21539, 23212, 24767, 29478
    ),
    "a page before the last one completes the batch": (2474, 9715, 22081, 24241, 27554, 29854),
    "a close gets no answer before it seals the batch": (2484, 19467, 20443, 20873, 21332, 26654),
    "another acks the item before a failure reads that the batch has ended": (32882, 40495),
}  # fmt: skip
"""Seeds of the tracker whose histories had no order, by what the recorder, the specification and, last, the
tracker lacked."""


@functools.cache
def recorded(of):
    return [run.RECORDERS[of](seed) for seed in range(SEEDS[of])]


@pytest.mark.parametrize("of", SEEDS)
def test_every_history_has_an_order(of):
    tally = run_seeds(lambda seed: recorded(of)[seed].judged(), range(SEEDS[of]))

    assert tally.violations == []
    assert tally.faults.total() > SEEDS[of]


@pytest.mark.parametrize(("cause", "seed"), [(cause, seed) for cause in CAUSES for seed in CAUSES[cause]])
def test_a_history_that_had_no_order_has_one(cause, seed):
    assert run.judge("tracker", seed).violation is None, cause


@pytest.mark.parametrize(("of", "spec"), SPECS.items())
def test_every_operation_is_recorded_some_overlap_and_some_have_no_answer(of, spec):
    histories = [operations for each in recorded(of) for operations in each.recorder.objects.values()]

    assert {each.name for operations in histories for each in operations} == set(spec.STEPS)
    assert not all(each.is_answered for operations in histories for each in operations)
    assert any(overlap(operations) for operations in histories)
    assert max(map(len, histories)) > 15


def overlap(operations):
    return any(a.began < b.began < a.ended < b.ended for a in operations for b in operations if b.is_answered)


@pytest.mark.parametrize(
    ("of", "rule"),
    [
        pytest.param(of, rule, marks=pytest.mark.proof if rule in SELDOM else ())
        for of, (_, *rules) in MUTANTS.items()
        for rule in rules
    ],
)
def test_the_checker_alone_notices_a_broken_rule(of, rule):
    module = MUTANTS[of][0]
    mutant = next(each for each in module.MUTANTS if each.rule.startswith(rule))

    with mutant.alive():
        broken = (run.RECORDERS[of](seed).broken() for seed in range(SEEDS_TO_KILL))
        assert any(each and each.invariant == "linearizable" for each in broken)
