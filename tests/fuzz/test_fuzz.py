"""A slice of `make fuzz`, and that it finds what it looks for."""

from __future__ import annotations

import json
import os

import boto3
import pytest

from fanin.local.request_rules.sqs import BYTES_MAX
from functions import confirm_event
from tests.fuzz import records, running
from tests.fuzz.conftest import Both
from tests.fuzz.mutating import Request
from tests.fuzz.records import Context
from tests.fuzz.running import ANSWER_MAX, Judge

REQUESTS, DELIVERIES = 60, 3
PROBLEM = {"Content-Type": "application/problem+json"}


def test_broken_requests_are_refused_or_served_and_show_nothing_of_the_inside(both: Both) -> None:
    judge = running.run(REQUESTS, seed=16, tenant=both.other)

    assert judge.wrong == []
    assert judge.answers.total() == REQUESTS


def test_of_a_delivery_only_the_broken_records_fail(both: Both) -> None:
    judge = records.run(DELIVERIES, seed=16, tenant=both.owner)

    assert judge.wrong == []
    assert set(judge.delivered.values()) == {DELIVERIES}


def test_an_event_of_half_a_character_confirms_nothing(both: Both) -> None:
    batch = both.owner.send("GET", f"/v1/batches/{both.owner.marks['ENDED']}")
    ending = {"batchId": batch["batchId"], "eventId": batch["event"]["eventId"]}
    before = rows()

    confirm_event.handler({"detail": {"tenant": "\udfff", **ending}}, Context())

    assert rows() == before
    confirm_event.handler({"detail": {"tenant": both.owner.account, **ending}}, Context())
    assert rows() != before


def rows() -> list[str]:
    """All rows of the batches, among them those of confirmed events."""
    items = boto3.client("dynamodb").scan(TableName=os.environ["FANIN_BATCHES_TABLE"])["Items"]
    return sorted(json.dumps(item, sort_keys=True, default=str) for item in items)


def document(**fields: object) -> str:
    return json.dumps({"type": "t", "title": "t", "detail": "d", **fields})


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (500, PROBLEM, document(status=500)),
        (400, {"Content-Type": "text/html"}, document(status=400)),
        (400, PROBLEM, document(status=404)),
        (400, PROBLEM, '{"status": 400}'),
        (400, PROBLEM, document(status=400, detail="x" * ANSWER_MAX)),
        (400, PROBLEM, document(status=400, detail="botocore.errorfactory")),
        (200, {}, '{"table": "GroupTasks"}'),
    ],
)
def test_an_answer_that_is_wrong_is_found(status: int, headers: dict[str, str], body: str) -> None:
    judge = Judge()
    answer = {"statusCode": status, "headers": headers, "body": body}
    judge.judge("--seed 1 --first 1", "GET /v1/batches", Request("GET", "/v1/batches"), answer)

    assert len(judge.wrong) == 1


@pytest.mark.parametrize("text", ["", "x" * (BYTES_MAX + 1), "é" * BYTES_MAX, "a\x00\ud800b"])
def test_a_broken_message_is_one_that_sqs_would_deliver(text: str) -> None:
    taken = records.whole(text).encode()

    assert 1 <= len(taken) <= BYTES_MAX
    assert not records.NOT_OF_XML.search(taken.decode())
