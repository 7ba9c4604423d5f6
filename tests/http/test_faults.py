"""A few schedules under faults between the functions and the emulator; ``make faults`` runs hundreds."""

from __future__ import annotations

import pytest

from fanin.local import LocalRun
from tests.soak.soaking import Plan, soaking

PLAN = Plan(5, seed=16)


@pytest.mark.proof
def test_schedules_under_faults_end_as_they_should(run: LocalRun) -> None:
    with soaking(PLAN, run) as soak:
        soak.load()
        rules = soak.judged()
        next(iter(soak.ledger.batches.values())).total += 1
        untrue = soak.judged()[0]

    assert [rule.seen for rule in rules if not rule.holds] == []
    assert len(untrue.broken) == 1
    assert soak.injected.total() > PLAN.schedules
