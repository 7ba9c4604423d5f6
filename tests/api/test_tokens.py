"""A task token or a callback id over HTTP: it is taken, and no answer, event or log line has it."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from fanin.api.bus_events.ending_events import endings
from fanin.s3_publications.service import Publications
from fanin.settings.settings_file import SettingsFile
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.rules.model import Batch
from functions.wiring import deployed, s3_publications
from tests.api.gateway import Gateway

TOKEN = "AQCEAAAAKgAAAAMAAAAA/+="
MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:waits"
FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:waits"
PUBLISHED = {"source": "s3://lake/rows.jsonl", "queue": "arn:aws:sqs:us-east-1:123456789012:work"}
BODY = {"deadlineSeconds": 60, "onFailures": "fail", "userKey": "orders"}
KINDS = {
    "taskToken": SettingsFile(resumed_state_machines=[MACHINE]),
    "durableCallbackId": SettingsFile(resumed_durable_functions=[FUNCTION]),
}
"""The settings of a stack that resumes what waits with a kind of token."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_about_a_batch_has_its_token(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    monkeypatch.setattr(deployed, "settings_file", lambda: KINDS[kind])
    answers = [gateway.send("POST", "/v1/batches", BODY | {kind: TOKEN})]
    batch_id = answers[0].body["batchId"]
    path = f"/v1/batches/{batch_id}"
    answers += [
        gateway.send("GET", path),
        gateway.send("GET", "/v1/batches"),
        gateway.send("POST", f"{path}/items", {"count": 3}),
        gateway.send("GET", f"{path}/outstanding"),
        gateway.send("POST", f"{path}/cancel", {}),
        gateway.send("POST", f"{path}/notify", {}),
    ]

    assert {answer.status for answer in answers} <= {200, 201, 202}
    assert TOKEN not in json.dumps([answer.body for answer in answers]) + caplog.text


@pytest.mark.parametrize(
    ("kind", "setting"),
    [("taskToken", "resumed_state_machines"), ("durableCallbackId", "resumed_durable_functions")],
)
def test_a_token_that_nothing_would_answer_is_refused(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, kind: str, setting: str
) -> None:
    (others,) = (settings for name, settings in KINDS.items() if name != kind)
    monkeypatch.setattr(deployed, "settings_file", lambda: others)
    answer = gateway.send("POST", "/v1/batches", BODY | {kind: TOKEN})

    assert answer.status == 400
    assert setting in json.dumps(answer.body)
    assert TOKEN not in json.dumps(answer.body)


@pytest.mark.parametrize("kind", KINDS)
def test_the_batch_of_a_publication_has_the_token_and_no_other_stack_takes_it(
    gateway: Gateway, tracker: Tracker, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    sent: list[str] = []
    opened: list[Batch] = []
    positions: Any = SimpleNamespace(create=lambda batch, _: opened.append(batch), get=lambda _: None)
    bucket: Any = SimpleNamespace(list_objects_v2=lambda **_: {"Contents": [{"Key": "rows.jsonl"}]})
    unused: Any = None
    publications = Publications(tracker, positions, bucket, unused, lambda body, _: sent.append(body))
    monkeypatch.setattr(deployed, "settings_file", lambda: KINDS[kind])
    monkeypatch.setattr(s3_publications, "check", lambda _order: None)
    monkeypatch.setattr(s3_publications, "publications", lambda _: publications)
    answer = gateway.send("POST", "/v1/publications", PUBLISHED | BODY | {kind: TOKEN})
    token = tracker.store.task_token(opened[0].key)

    assert (answer.status, token and token.text) == (202, TOKEN)
    assert TOKEN not in json.dumps(answer.body) + "".join(sent)
    (other,) = KINDS.keys() - {kind}
    assert gateway.send("POST", "/v1/publications", PUBLISHED | BODY | {other: TOKEN}).status == 400


def test_a_batch_resumes_one_and_not_two(gateway: Gateway) -> None:
    answer = gateway.send("POST", "/v1/batches", BODY | dict.fromkeys(KINDS, TOKEN))

    assert answer.status == 400
    assert "not both" in json.dumps(answer.body)
    assert TOKEN not in json.dumps(answer.body)


def test_the_event_says_that_a_task_waits_and_has_no_token(tracker: Tracker) -> None:
    waits = tracker.open("t", OpenBatch(task_token=TOKEN, deadline=timedelta(hours=1)))
    other = tracker.open("t", OpenBatch())
    for batch in (waits, other):
        tracker.cancel("t", batch.batch_id)
    keys = [
        {"dynamodb": {"Keys": {"pk": {"S": str(batch.key)}, "sk": {"S": "batch"}}}}
        for batch in (waits, other)
    ]
    first, second = endings(keys, tracker)

    assert first["resumes"] is True
    assert "resumes" not in second
    assert TOKEN not in json.dumps(first)
