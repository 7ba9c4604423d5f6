"""A task token over HTTP: it is taken, and no answer, event, archived change or log line has it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from fanin.api.events.ending_events import endings
from fanin.aws.settings.settings_file import SettingsFile
from fanin.tracker import OpenBatch, Tracker
from functions.wiring import deployed
from tests.api.gateway import Gateway

TOKEN = "AQCEAAAAKgAAAAMAAAAA/+="
MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:waits"
BODY = {"taskToken": TOKEN, "deadlineSeconds": 60, "onFailures": "fail", "userKey": "orders"}


@pytest.fixture
def resuming(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SettingsFile(resumed_state_machines=[MACHINE])
    monkeypatch.setattr(deployed, "settings_file", lambda: settings)


@pytest.mark.usefixtures("resuming")
def test_no_answer_about_a_batch_has_its_token(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    answers = [gateway.send("POST", "/v1/batches", BODY)]
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


def test_a_token_that_nothing_would_answer_is_refused(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployed, "settings_file", SettingsFile)
    answer = gateway.send("POST", "/v1/batches", BODY)

    assert answer.status == 400
    assert "resumed_state_machines" in json.dumps(answer.body)


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
