"""The last 500 events of a local run are read by other processes, whole."""

from __future__ import annotations

import json

from fanin.local.event_log import KEPT, EventLog
from tests.local.test_pipe_runner import Aws, carried_out


def test_a_new_run_has_no_events(tmp_path):
    assert EventLog(tmp_path).last() == []


def test_the_last_events_are_kept_in_two_bounded_files(tmp_path):
    log = EventLog(tmp_path)
    for number in range(3 * KEPT + 7):
        log.add([{"number": number}])
        if number % 100 < 2:
            assert EventLog(tmp_path).last()[-1]["number"] == number
    found = [each["number"] for each in EventLog(tmp_path).last()]
    assert found == list(range(2 * KEPT + 7, 3 * KEPT + 7))
    assert sum(len(path.read_text().splitlines()) for path in tmp_path.iterdir()) <= 2 * KEPT


def test_a_line_that_is_being_written_is_left_out(tmp_path):
    EventLog(tmp_path).add([{"number": 1}])
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(json.dumps({"number": 2})[:-1])

    assert EventLog(tmp_path).last() == [{"number": 1}]


def test_a_line_that_was_cut_hides_no_other_event(tmp_path):
    EventLog(tmp_path).add([{"number": 1}])
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(json.dumps({"number": 2})[:-1])
    EventLog(tmp_path).add([{"number": 3}, {"number": 4}])

    assert EventLog(tmp_path).last() == [{"number": 1}, {"number": 4}]


def test_the_pipe_logs_what_the_bus_took(tmp_path):
    aws = Aws(2, lambda numbers: [{"batchId": number} for number in numbers])
    aws.refuse_next = 1
    carried_out(aws, event_log=EventLog(tmp_path))

    assert [(each["detailType"], each["detail"]["batchId"]) for each in EventLog(tmp_path).last()] == [
        ("BatchCompleted", "1"),
        ("BatchCompleted", "2"),
    ]


def test_a_log_that_cannot_be_written_stops_no_event(tmp_path):
    aws = Aws(2, lambda numbers: [{"batchId": number} for number in numbers])
    carried_out(aws, event_log=EventLog(tmp_path / "removed"))

    assert [each["batchId"] for each in aws.put] == ["1", "2"]
