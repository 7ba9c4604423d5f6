from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from fanin.local import pipe_runner
from fanin.local.pipe import Pipe
from fanin.local.pipe_runner import PipeRunner
from tests.local.template import PHYSICAL, template

Answer = Callable[[list[Any]], Any]


class Aws:
    """Every AWS service the runner talks to, in one: a stream of *records*, and a function that *answers*."""

    def __init__(self, records: int, answers: Answer) -> None:
        self.records = [
            {"dynamodb": {"SequenceNumber": str(number), "Keys": {"pk": {"S": str(number)}}}}
            for number in range(1, records + 1)
        ]
        self.answers = answers
        self.put: list[str] = []
        self.refuse_next = 0
        self.dead: list[dict[str, Any]] = []
        self.runner: PipeRunner | None = None

    def client(self, _service: str) -> Aws:
        return self

    def describe_table(self, **asked):
        return {"Table": {"LatestStreamArn": f"arn:{asked['TableName']}"}}

    def describe_stream(self, **_):
        return {"StreamDescription": {"Shards": [{"ShardId": "shard"}]}}

    def get_shard_iterator(self, **asked):
        return {"ShardIterator": asked.get("SequenceNumber", "0")}

    def get_records(self, **asked):
        left = self.records[int(asked["ShardIterator"]) :]
        if not left:
            assert self.runner
            self.runner.stopped.set()
        return {"Records": left, "NextShardIterator": str(len(self.records))}

    def invoke(self, **asked):
        answer = self.answers(
            [record["dynamodb"]["SequenceNumber"] for record in json.loads(asked["Payload"])]
        )
        error = {"FunctionError": "Unhandled"} if answer is None else {}
        return {"Payload": io.BytesIO(json.dumps(answer).encode()), **error}

    def put_events(self, **asked):
        if self.refuse_next:
            self.refuse_next -= 1
            return {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "InternalFailure"}]}
        self.put += [json.loads(entry["Detail"]) for entry in asked["Entries"]]
        return {"FailedEntryCount": 0, "Entries": []}

    def send_message(self, **asked):
        self.dead.append(json.loads(asked["MessageBody"]))


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(pipe_runner, "POLL_SECONDS", 0)
    monkeypatch.setattr(pipe_runner, "FIRST_PAUSE_SECONDS", 0)


def carried_out(aws: Aws, *patterns: dict[str, Any], **settings: Any) -> Aws:
    """*aws* after the whole stream was dealt with."""
    aws.runner = PipeRunner(Pipe.of(template(*patterns, **settings), PHYSICAL), aws)
    aws.runner.run()
    return aws


def test_every_record_is_delivered_once_and_in_order():
    aws = carried_out(Aws(25, lambda numbers: numbers), batch_size=10)

    assert aws.put == [str(number) for number in range(1, 26)]
    assert not aws.dead


def test_what_the_bus_refuses_is_tried_again():
    aws = Aws(1, lambda numbers: numbers)
    aws.refuse_next = 2

    carried_out(aws, retries=2)

    assert aws.put == ["1"]
    assert not aws.dead


def test_a_record_that_keeps_failing_goes_alone_to_the_dead_letter_queue():
    aws = carried_out(Aws(9, lambda numbers: None if "4" in numbers else numbers), retries=2)

    assert aws.put == ["1", "2", "3", "5", "6", "7", "8", "9"]
    assert [body["DynamoDBStreamBatchInfo"]["startSequenceNumber"] for body in aws.dead] == ["4"]


def test_a_hopeless_record_is_tried_as_often_as_the_template_says():
    tries: list[list[str]] = []

    carried_out(Aws(1, tries.append), retries=3)

    assert len(tries) == 4


def test_an_empty_answer_sends_nothing_and_counts_as_delivered():
    aws = carried_out(Aws(3, lambda _: []))

    assert not aws.put
    assert not aws.dead


def test_more_events_than_a_bus_takes_are_not_sent_in_part():
    aws = carried_out(Aws(1, lambda _: list(range(11))), retries=0)

    assert not aws.put
    assert len(aws.dead) == 1


def test_an_event_without_a_detail_type_goes_to_the_dead_letter_queue_and_blocks_no_other():
    def kinds(numbers):
        return [{} if number == "2" else {"kind": number} for number in numbers]

    aws = carried_out(Aws(3, kinds), retries=1, detail_type="$.kind")

    assert aws.put == [{"kind": "1"}, {"kind": "3"}]
    assert [body["DynamoDBStreamBatchInfo"]["startSequenceNumber"] for body in aws.dead] == ["2"]


def test_records_that_the_filter_refuses_never_reach_the_enrichment():
    seen: list[str] = []

    carried_out(
        Aws(3, lambda numbers: seen.extend(numbers) or []),
        {"dynamodb": {"Keys": {"pk": {"S": ["2"]}}}},
    )

    assert seen == ["2"]


def test_after_a_failed_read_it_goes_on_behind_the_last_delivered_record(monkeypatch):
    aws = Aws(3, lambda numbers: numbers)
    whole, read = aws.get_records, []

    def breaks_once(**asked):
        read.append(asked["ShardIterator"])
        if len(read) == 2:
            raise pipe_runner.BotoCoreError
        page = whole(**asked)
        return {**page, "Records": page["Records"][:1], "NextShardIterator": str(int(read[-1]) + 1)}

    monkeypatch.setattr(aws, "get_records", breaks_once)
    carried_out(aws)

    assert aws.put == ["1", "2", "3"]
    assert read[:3] == ["0", "1", "1"]
