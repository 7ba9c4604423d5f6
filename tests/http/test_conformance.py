"""fanin's adapter of the conformance suite, over the local run: some cases; in `make proof` nearly all."""

from __future__ import annotations

import pytest

from fanin_conformance import CASES, Effort, Verdict, judge
from tests.conformance.on_local_run import CountedOnLocalRun

FEW = Effort(rounds=1, items=100, timeout=300)
MANY_ACKS = "T9"
MOST = CASES.keys() - {"T3", "T27", "T31", "T37", MANY_ACKS}
"""`make conformance` runs all of them; those of many items are in test_tracking and test_lifecycle."""
SOME = {name for name in MOST if int(name[1:]) % 4 == 2}
"""Each fourth; tests/contract has the rules of all of them, over the tracker itself."""


@pytest.mark.parametrize("cases", [SOME, pytest.param(MOST, marks=pytest.mark.proof)], ids=["some", "most"])
def test_fanin_passes_but_for_credentials_which_a_local_run_does_not_ask_for(run, bus, cases):
    found = judge(CountedOnLocalRun(run, bus, page_bits=4), [CASES[name] for name in sorted(cases)], FEW)

    assert {each.case.id: each.seen for each in found if each.verdict is not Verdict.PASS} == {
        "T38": "authentication of a local run without a JWT issuer"
    }


@pytest.mark.proof
def test_many_acks_at_once_complete_a_batch_once(run, bus):
    (found,) = judge(CountedOnLocalRun(run, bus, page_bits=4), [CASES[MANY_ACKS]], FEW)

    assert found.verdict is Verdict.PASS, found.seen
