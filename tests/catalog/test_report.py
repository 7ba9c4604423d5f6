from __future__ import annotations

import json

import pytest

from examples.catalog.output import report
from examples.catalog.output.progress import Counters
from examples.catalog.output.report import Times, percentile
from examples.catalog.system.bundles import Bundled
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


def test_a_person_reads_each_figure_on_a_line_of_its_own():
    assert report.lines(makers.report()) == [
        "  items                 1,000",
        "  messages              1,030 sent, 30 of them second copies on purpose",
        "  deliveries            1,050, 20 of them again after a failure",
        "  failures on purpose   20",
        "  duplicate acks        26, none of which counted",
        "  bundled               200 of the items: tasks in 8 bundles of 25 on average, 8 registered again",
        "  batch API             12 calls in place of 200: 188 saved; 3 refused (429), "
        "1 answers lost on purpose",
        "  work queue            50 of the items: a job each, acked together with its index row, "
        "3 added again",
        "  DynamoDB write units  1,300 of the workers, 1.30 an item with its row, 0.25 an ack",
        "  from send to work     p50 50.0 s, p99 99.0 s",
        "  time                  sent in 10.0 s, acked in 50.0 s",
        "  throughput            20 items/s",
        "  completion event      one, 0.40 s after the last ack",
    ]


def test_a_run_that_bundled_or_queued_nothing_says_nothing_of_it():
    unbundled = makers.report(bundled=Bundled())
    neither = makers.report(bundled=Bundled(), queued=0)

    assert "batch API" not in "\n".join(report.lines(unbundled))
    assert any(line.startswith("  work queue ") for line in report.lines(unbundled))
    assert "work queue" not in "\n".join(report.lines(neither))
    assert report.verdict(neither) == [
        "PASS: 1,000 items, one completion, the index holds exactly the dataset"
    ]


def test_redeliveries_of_the_event_are_reported():
    reported = report.lines(makers.report(event_redeliveries=2))

    assert reported[-1].endswith("one, delivered 2 times more, 0.40 s after the last ack")


def test_the_verdict_is_pass_only_without_differences():
    assert report.verdict(makers.report())[0].startswith("PASS")
    assert report.verdict(makers.report(differences=["x is 1, not 2"])) == ["FAIL", "  x is 1, not 2"]


def test_a_run_without_latencies_has_a_report_too():
    empty = makers.report(times=Times(latencies=[], sending=0.0, total=1.0, event_delay=0.0))

    assert empty.facts()["latency"] == {"p50": 0, "p99": 0}
