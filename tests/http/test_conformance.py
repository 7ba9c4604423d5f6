"""fanin passes its own conformance suite on the local run, with few rounds and small batches."""

from __future__ import annotations

from fanin.conformance import CASES, Effort, Verdict, judge
from tests.conformance.on_local_run import CountedOnLocalRun

FEW = Effort(rounds=6, items=400, timeout=120)


def test_every_case_passes_but_that_of_credentials(run, bus):
    """A local run has none without a JWT issuer: `make conformance` starts one."""
    found = judge(CountedOnLocalRun(run, bus, page_bits=4), CASES.values(), FEW)
    bad = {each.case.id: each.seen for each in found if each.verdict is not Verdict.PASS}

    assert bad == {"T38": "authentication of a local run without a JWT issuer"}, found
    slow = sorted(found, key=lambda each: -each.seconds)[:5]
    print([(each.case.id, round(each.seconds, 2)) for each in slow], sum(each.seconds for each in found))
