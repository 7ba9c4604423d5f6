"""The last 500 events of a local run are read by other processes, whole."""

from __future__ import annotations

import json

from fanin.local.bus_listener import BusListener
from fanin.local.event_log import KEPT, EventLog


def test_the_last_events_are_kept_in_two_bounded_files(tmp_path):
    log = EventLog(tmp_path)
    for number in range(3 * KEPT + 7):
        log.add([{"number": number}])
        if number % 100 < 2:
            assert EventLog(tmp_path).last()[-1]["number"] == number
    found = [each["number"] for each in EventLog(tmp_path).last()]
    assert found == list(range(2 * KEPT + 7, 3 * KEPT + 7))
    assert sum(len(path.read_text().splitlines()) for path in tmp_path.iterdir()) <= 2 * KEPT


def test_a_line_that_was_cut_hides_no_other_event(tmp_path):
    EventLog(tmp_path).add([{"number": 1}])
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(json.dumps({"number": 2})[:-1])
    EventLog(tmp_path).add([{"number": 3}, {"number": 4}])

    assert EventLog(tmp_path).last() == [{"number": 1}, {"number": 4}]


class Bus:
    """SQS and EventBridge with two events, and what was asked of them."""

    def __init__(self):
        self.patterns = []
        self.bodies = [
            {"source": "fanin", "detail-type": kind, "detail": {"batchId": number}}
            for number, kind in (("1", "BatchCompleted"), ("2", "TaskFailed"))
        ]
        self.deleted, self.requests = [], 0

    def client(self, _service):
        return self

    def create_queue(self, **_):
        return {"QueueUrl": "queue"}

    def get_queue_attributes(self, **_):
        return {"Attributes": {"QueueArn": "arn"}}

    def put_rule(self, **asked):
        self.patterns.append((asked["EventBusName"], json.loads(asked["EventPattern"])))

    def put_targets(self, **_):
        pass

    def receive_message(self, **_):
        texts = [each if isinstance(each, str) else json.dumps(each) for each in self.bodies]
        return {"Messages": [{"Body": text, "ReceiptHandle": f"r{n}"} for n, text in enumerate(texts)]}

    def delete_message_batch(self, **asked):
        self.deleted += [each["ReceiptHandle"] for each in asked["Entries"]]
        self.requests += 1


def test_what_is_put_on_the_bus_is_logged_whichever_function_put_it(tmp_path):
    aws = Bus()
    BusListener("bus", aws, EventLog(tmp_path)).receive()

    assert aws.patterns == [("bus", {"source": ["fanin"]})]
    assert [(each["detailType"], each["detail"]["batchId"]) for each in EventLog(tmp_path).last()] == [
        ("BatchCompleted", "1"),
        ("TaskFailed", "2"),
    ]
    assert (aws.deleted, aws.requests) == (["r0", "r1"], 1)


def test_a_message_that_is_no_event_hides_none_and_is_deleted(tmp_path):
    aws = Bus()
    aws.bodies = ["hello", "[]", "{}", *aws.bodies]
    BusListener("bus", aws, EventLog(tmp_path)).receive()

    assert [each["detail"]["batchId"] for each in EventLog(tmp_path).last()] == ["1", "2"]
    assert len(aws.deleted) == 5


def test_a_log_that_cannot_be_written_stops_no_event(tmp_path):
    aws = Bus()
    BusListener("bus", aws, EventLog(tmp_path / "removed")).receive()

    assert len(aws.deleted) == 2
