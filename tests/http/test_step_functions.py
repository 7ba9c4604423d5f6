"""The publisher and the state machine of docs/step_functions.md, unchanged, on the local run."""

from __future__ import annotations

import io
import json
import re
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fanin import Fanin
from fanin.local import LocalRun
from tests.polling import eventually

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "step_functions.md").read_text()
BLOCKS = dict(re.findall(r"<!-- ([\w ]+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
ROLE = "arn:aws:iam::000000000000:role/any"
PATIENCE_SECONDS = 60


def packed() -> bytes:
    """The publisher's code with the client beside it, as the zip of a function."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("publisher.py", BLOCKS["publisher"])
        for path in sorted((ROOT / "shared" / "fanin").rglob("*.py")):
            archive.write(path, path.relative_to(ROOT / "shared"))
    return buffer.getvalue()


@pytest.fixture(scope="module")
def queue(run: LocalRun) -> str:
    url: str = run.client("sqs").create_queue(QueueName="fanned-out")["QueueUrl"]
    return url


@pytest.fixture(scope="module")
def machine(run: LocalRun, queue: str) -> str:
    run.client("lambda").create_function(
        FunctionName="fan_out",
        Runtime=f"python3.{sys.version_info.minor}",
        Role=ROLE,
        Handler="publisher.handler",
        Timeout=30,
        Code={"ZipFile": packed()},
        Environment={"Variables": {"FANIN_URL": run.url, "QUEUE_URL": queue}},
    )
    created = run.client("stepfunctions").create_state_machine(
        name="waits", definition=BLOCKS["state machine"], roleArn=ROLE
    )
    arn: str = created["stateMachineArn"]
    return arn


def started(run: LocalRun, machine: str, rows: int) -> str:
    given = json.dumps({"rows": [f"row {number}" for number in range(rows)]})
    arn: str = run.client("stepfunctions").start_execution(stateMachineArn=machine, input=given)[
        "executionArn"
    ]
    return arn


def fanned_out(run: LocalRun, queue: str, count: int) -> list[str]:
    """The item ids of *count* messages of the publisher."""
    found: list[str] = []
    give_up = time.monotonic() + PATIENCE_SECONDS
    while len(found) < count and time.monotonic() < give_up:
        answer = run.client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        for message in answer.get("Messages", []):
            found.append(json.loads(message["Body"])["itemId"])
            run.client("sqs").delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    return found


def ended(run: LocalRun, execution: str) -> dict[str, Any]:
    machines = run.client("stepfunctions")

    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = machines.describe_execution(executionArn=execution)
        return None if found["status"] == "RUNNING" else found

    end = eventually(look)
    assert end
    return end


def token_of(run: LocalRun, batch_id: str) -> Any:
    key = {"pk": {"S": f"000000000000#{batch_id}"}, "sk": {"S": "token"}}
    return run.client("dynamodb").get_item(TableName=run.outputs["BatchesTable"], Key=key).get("Item")


def test_a_state_machine_fans_out_waits_and_resumes_once(run: LocalRun, machine: str, queue: str) -> None:
    execution = started(run, machine, rows=3)
    items = fanned_out(run, queue, 3)
    batch_id = items[0].partition(":")[0]
    waiting = run.client("stepfunctions").describe_execution(executionArn=execution)["status"]
    token = token_of(run, batch_id)["taskToken"]["S"]
    fanin = Fanin(run.url)
    fanin.ack(items)
    end = ended(run, execution)
    fanin.notify(batch_id)
    history = run.client("stepfunctions").get_execution_history(executionArn=execution, maxResults=1000)

    output = json.loads(end["output"])["batch"]
    assert (waiting, end["status"]) == ("RUNNING", "SUCCEEDED")
    assert (output["batchId"], output["result"], output["resumes"]) == (batch_id, "succeeded", True)
    assert token not in end["output"]
    assert [each["type"] for each in history["events"]].count("TaskSucceeded") == 1


def test_a_batch_that_is_cancelled_fails_the_execution(run: LocalRun, machine: str, queue: str) -> None:
    execution = started(run, machine, rows=1)
    (item,) = fanned_out(run, queue, 1)
    batch_id = item.partition(":")[0]
    Fanin(run.url).cancel(batch_id, "not wanted")
    end = ended(run, execution)

    assert (end["status"], end.get("error")) == ("FAILED", "fanin.Cancelled")
    assert json.loads(end["cause"])["reason"] == "not wanted"
    assert eventually(lambda: token_of(run, batch_id) is None)
