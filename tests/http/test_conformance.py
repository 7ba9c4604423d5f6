"""fanin's adapter of the conformance suite, over the local run: one case of each kind of request."""

from __future__ import annotations

from fanin_conformance import CASES, Effort, Verdict, judge
from tests.conformance.on_local_run import CountedOnLocalRun

FEW = Effort(rounds=3, items=100, timeout=300)
SOME = ("T2", "T8", "T11", "T15", "T18", "T19", "T20", "T23", "T24", "T25", "T28", "T29", "T34", "T36", "T38")
"""`make conformance` runs all of them, with 1,000 items and more."""


def test_fanin_passes_but_for_credentials_which_a_local_run_does_not_ask_for(run, bus):
    found = judge(CountedOnLocalRun(run, bus, page_bits=4), [CASES[name] for name in SOME], FEW)

    assert {each.case.id: each.seen for each in found if each.verdict is not Verdict.PASS} == {
        "T38": "authentication of a local run without a JWT issuer"
    }
