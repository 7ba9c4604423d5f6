"""Each simulator in its short run: no promise breaks, the schedules go where they say, and rules are needed.

A broken rule is the canary of its simulator: it has to be found. The long run is ``make proof``, which also
breaks the rules that another one holds up.
"""

from __future__ import annotations

import pytest

from tests.simulating.claims import CLAIMS
from tests.simulating.mutants import kill
from tests.simulating.run import run_seeds
from tests.simulating.smoke import SMOKES

DEAR = {
    "old ready jobs are rung for",
    "the parts of a bundle meet again",
    "a bundle is given up before its last attempt",
    "a bundle is retried for ever",
    "a receipt is found after close",
    "an interruption returns the jobs",
    "a claim that timed out is remembered",
    "a claim that timed out is looked for",
    "the old parts are drained",
    "an old part is drained up to its first live job",
}
"""Rules whose loss shows only in runs of half a second and more."""
BROKEN = [
    # The loss of a rule with *since* shows seldom.
    pytest.param(name, rule, marks=[pytest.mark.proof] if rule.since or rule.rule in DEAR else [])
    for name, smoke in SMOKES.items()
    for rule in smoke.rules.MUTANTS
]
INVARIANTS = {(claim.simulator, claim.rule): claim.invariant for claim in CLAIMS}


def ids(value):
    return getattr(value, "rule", value)


@pytest.mark.parametrize("name", SMOKES)
def test_no_schedule_breaks_a_promise_and_every_kind_of_fault_and_of_end_is_met(name):
    violations, missed = SMOKES[name].missed()

    assert violations == []
    assert missed == set()


@pytest.mark.proof
@pytest.mark.parametrize("name", SMOKES)
def test_a_seed_that_notices_a_broken_rule_breaks_no_promise_while_the_rule_stands(name):
    seeds = dict.fromkeys(SMOKES[name].known_seeds())

    assert run_seeds(SMOKES[name].room.simulate, seeds).violations == []


@pytest.mark.parametrize("name", SMOKES)
def test_a_seed_replays_request_by_request(name):
    first, again, other = [], [], []
    for seed, lines in ((3, first), (3, again), (4, other)):
        SMOKES[name].room.simulate(seed, lines)

    assert first == again != other


@pytest.mark.parametrize(("name", "mutant"), BROKEN, ids=ids)
def test_a_broken_rule_breaks_the_promise_that_a_page_makes(name, mutant):
    found = kill(SMOKES[name].room, mutant, SMOKES[name].to_kill)

    assert found is not None
    assert found.invariant == INVARIANTS.get((name, mutant.rule), found.invariant)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.rule)
def test_a_page_says_what_a_broken_rule_shows(claim):
    assert claim.stands()
    assert claim.rule in {each.rule for each in SMOKES[claim.simulator].rules.MUTANTS}
