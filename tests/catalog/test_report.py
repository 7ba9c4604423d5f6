from __future__ import annotations

import json

import pytest

from examples.catalog.output import report
from examples.catalog.output.progress import Counters
from examples.catalog.output.report import Times, percentile
from tests.catalog import makers


@pytest.mark.parametrize(
    ("values", "percent", "found"),
    [([], 50, 0), ([7], 99, 7), ([4, 3, 2, 1], 50, 2), (range(1, 102), 99, 100), (range(1, 101), 100, 100)],
)
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(values, percent, found):
    assert percentile(list(values), percent) == found


def test_what_a_report_derives_from_its_counts():
    totals = makers.report()

    assert (totals.messages, totals.redeliveries) == (1030, 20)
    assert (totals.units_an_item, totals.units_an_ack) == (1.3, 0.25)
    assert (totals.registered_again, totals.added_again) == (8, 3)
    assert (totals.items_a_second, totals.latency(50), totals.latency(99)) == (20.0, 50.0, 99.0)
    assert makers.report(counters=Counters(deliveries=1050)).units_an_ack == 0


def test_a_report_is_plain_json_and_says_whether_it_passed():
    facts = json.loads(json.dumps(makers.report(differences=["a difference"]).facts()))

    assert (facts["passed"], facts["differences"], facts["items"]) == (False, ["a difference"], 1000)


def test_the_verdict_is_pass_only_without_differences():
    assert report.verdict(makers.report())[0].startswith("PASS")
    assert report.verdict(makers.report(differences=["x is 1, not 2"])) == ["FAIL", "  x is 1, not 2"]


def test_a_run_without_latencies_has_a_report_too():
    empty = makers.report(times=Times(latencies=[], sending=0.0, total=1.0, event_delay=0.0))

    assert empty.facts()["latency"] == {"p50": 0, "p99": 0}
