"""Some recorded histories of the tracker; ``make proof`` checks 30,000."""

from __future__ import annotations

import pytest

from tests.histories import tracker_spec
from tests.histories.run import judge
from tests.histories.tracker import record
from tests.simulating.run import run_seeds
from tests.simulation.mutants import MUTANTS

SEEDS, SEEDS_TO_KILL = 200, 60
RULES = (
    *("a page is full at its size", "told is who is stored, not whoever asks"),
    *("a caller has one name for all its attempts", "a reservation wants the total it saw"),
    *("a reservation wants no earlier receipt", "a retried add has the key it had"),
    *("a receipt is found after close", "two acks of an item in one request: one accepted"),
    *("close climbs", "success heals a failure", "failures lie under full pages too"),
    "a compacted leaf has nothing outstanding",
)
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


def test_every_history_has_an_order():
    tally = run_seeds(judge, range(SEEDS))

    assert tally.violations == []
    assert tally.faults.total() > SEEDS


@pytest.mark.parametrize(("cause", "seed"), [(cause, seed) for cause in CAUSES for seed in CAUSES[cause]])
def test_a_history_that_had_no_order_has_one(cause, seed):
    assert judge(seed).violation is None, cause


def test_every_operation_is_recorded_some_overlap_and_some_have_no_answer():
    histories = [operations for seed in range(60) for operations in record(seed).recorder.objects.values()]

    assert {each.name for operations in histories for each in operations} == set(tracker_spec.STEPS)
    assert not all(each.is_answered for operations in histories for each in operations)
    assert any(overlap(operations) for operations in histories)
    assert max(map(len, histories)) > 15


def overlap(operations):
    return any(a.began < b.began < a.ended < b.ended for a in operations for b in operations if b.is_answered)


@pytest.mark.parametrize("rule", RULES)
def test_the_checker_alone_notices_a_broken_rule(rule):
    mutant = next(each for each in MUTANTS if each.rule.startswith(rule))

    with mutant.alive():
        broken = (record(seed).broken() for seed in range(SEEDS_TO_KILL))
        assert any(each and each.invariant == "linearizable" for each in broken)
