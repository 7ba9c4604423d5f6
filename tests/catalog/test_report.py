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
    [
        ([], 50, 0),
        ([7], 99, 7),
        ([3, 1, 2], 50, 2),
        ([4, 3, 2, 1], 50, 2),
        (range(1, 101), 99, 99),
        (range(1, 102), 99, 100),
        (range(1, 101), 100, 100),
    ],
)
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(values, percent, found):
    assert percentile(list(values), percent) == found


def test_deliveries_beyond_the_messages_came_again_after_a_failure():
    made = makers.report()

    assert (made.messages, made.redeliveries) == (1030, 20)


def test_write_units_are_reported_an_item_and_an_ack_that_was_really_sent():
    made = makers.report()

    assert (made.units_an_item, made.units_an_ack) == (1.3, 0.25)


def test_workers_that_bundled_everything_spent_nothing_on_acks():
    assert makers.report(counters=Counters(deliveries=1050)).units_an_ack == 0


def test_a_registration_beyond_the_tasks_was_one_again():
    assert makers.report().registered_again == 8


def test_an_add_beyond_the_jobs_was_one_again():
    assert makers.report().added_again == 3


def test_throughput_and_latencies_are_those_of_the_items():
    made = makers.report()

    assert (made.items_a_second, made.latency(50), made.latency(99)) == (20.0, 50.0, 99.0)


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


def test_a_run_that_bundled_nothing_says_nothing_of_bundles():
    made = makers.report(bundled=Bundled())

    assert "batch API" not in "\n".join(report.lines(made))
    assert any(line.startswith("  work queue ") for line in report.lines(made))


def test_a_run_that_queued_nothing_says_nothing_of_the_work_queue():
    made = makers.report(bundled=Bundled(), queued=0)

    assert "work queue" not in "\n".join(report.lines(made))
    assert report.verdict(made) == ["PASS: 1,000 items, one completion, the index holds exactly the dataset"]


def test_redeliveries_of_the_event_are_reported():
    reported = report.lines(makers.report(event_redeliveries=2))

    assert reported[-1].endswith("one, delivered 2 times more, 0.40 s after the last ack")


def test_the_verdict_is_pass_only_without_differences():
    passed, failed = makers.report(), makers.report(differences=["x is 1, not 2"])

    assert report.verdict(passed)[0].startswith("PASS")
    assert report.verdict(failed) == ["FAIL", "  x is 1, not 2"]


def test_a_run_without_latencies_has_a_report_too():
    made = makers.report(times=Times(latencies=[], sending=0.0, total=1.0, event_delay=0.0))

    assert made.facts()["latency"] == {"p50": 0, "p99": 0}
