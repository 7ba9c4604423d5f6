"""The durable function of docs/durable_functions.md, unchanged, on the local run."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from fanin import Fanin, Items
from fanin.local import LocalRun
from fanin.testing import FakeFanin
from tests.polling import eventually

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "durable_functions.md").read_text()
(BLOCK,) = re.findall(r"<!-- durable function -->\n```python\n(.*?)```", PAGE, re.DOTALL)
NAME, BUCKET = "orders", "durable-rows"
SDK = '''
"""What the page uses of the SDK, on the API of Lambda. No step of a submitter is known to have succeeded."""
import json

import boto3

DurableContext = object
NONE = {"TimeoutSeconds": 0, "HeartbeatTimeoutSeconds": 0}


class Pending(Exception): ...


class Context:
    def __init__(self, event):
        self.request = {name: event[name] for name in ("DurableExecutionArn", "CheckpointToken")}
        self.operations = {each["Id"]: each for each in event["InitialExecutionState"]["Operations"]}

    def checkpoint(self, **update):
        answer = boto3.client("lambda").checkpoint_durable_execution(**self.request, Updates=[update])
        self.request["CheckpointToken"] = answer["CheckpointToken"]
        self.operations |= {each["Id"]: each for each in answer["NewExecutionState"]["Operations"]}

    def wait_for_callback(self, submit):
        if "1" not in self.operations:
            self.checkpoint(Id="1", Type="CALLBACK", Action="START", CallbackOptions=NONE)
        callback = self.operations["1"]
        submit(callback["CallbackDetails"]["CallbackId"], None)
        self.checkpoint(Id="2", Type="STEP", Action="START")
        if callback["Status"] == "STARTED":
            raise Pending
        if callback["Status"] == "FAILED":
            raise RuntimeError(callback["CallbackDetails"]["Error"])
        return callback["CallbackDetails"]["Result"]


def durable_execution(handler):
    def invoked(event, _):
        first = event["InitialExecutionState"]["Operations"][0]
        try:
            result = handler(json.loads(first["ExecutionDetails"]["InputPayload"]), Context(event))
        except Pending:
            return {"Status": "PENDING"}
        except RuntimeError as error:
            (fields,) = error.args
            return {"Status": "FAILED", "Error": fields}
        return {"Status": "SUCCEEDED", "Result": json.dumps(result)}

    return invoked
'''


EARLY = """
import time
from contextlib import suppress

import boto3
from aws_durable_execution_sdk_python import durable_execution


def submit(callback_id, _):
    with suppress(Exception):  # it has ended
        boto3.client("lambda").send_durable_execution_callback_success(CallbackId=callback_id, Result=b"1")
        time.sleep(0.3)


@durable_execution
def handler(event, context):
    context.wait_for_callback(submit)
    context.checkpoint(Id="3", Type="STEP", Action="RETRY", StepOptions={"NextAttemptDelaySeconds": 1})
    return context.operations["3"]["StepDetails"]["Attempt"]
"""
TEMPLATE = {
    "Resources": {
        "Made": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "FunctionName": "made",
                "Runtime": "python3.14",
                "Role": "arn:aws:iam::000000000000:role/any",
                "Handler": "index.handler",
                "DurableConfig": {"ExecutionTimeout": 3600},
                "Code": {"ZipFile": "def handler(event, _): return {'Status': 'SUCCEEDED', 'Result': '1'}"},
            },
        }
    }
}


def packed() -> bytes:
    """The page's function with the client and the SDK beside it, as the zip of a function."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("page.py", BLOCK)
        archive.writestr("early.py", EARLY)
        archive.writestr("aws_durable_execution_sdk_python.py", SDK)
        for path in sorted((ROOT / "shared" / "fanin").rglob("*.py")):
            archive.write(path, path.relative_to(ROOT / "shared"))
    return buffer.getvalue()


@pytest.fixture(scope="module")
def queue(run: LocalRun) -> str:
    url: str = run.client("sqs").create_queue(QueueName="durable")["QueueUrl"]
    run.client("s3").create_bucket(Bucket=BUCKET)
    run.client("s3").put_object(Bucket=BUCKET, Key="rows", Body=b'{"n": 1}\n{"n": 2}\n{"n": 3}\n')
    create(run, NAME, "page.handler", {"FANIN_URL": run.url, "QUEUE_URL": url})
    return url


def create(run: LocalRun, name: str, handler: str, variables: dict[str, str]) -> None:
    run.client("lambda").create_function(
        FunctionName=name,
        Runtime=f"python3.{sys.version_info.minor}",
        Role="arn:aws:iam::000000000000:role/any",
        Handler=handler,
        Timeout=30,
        DurableConfig={"ExecutionTimeout": 3600},
        Code={"ZipFile": packed()},
        Environment={"Variables": variables},
    )


def started(run: LocalRun, queue: str, name: str) -> tuple[str, str]:
    """Return the ARN of an execution that waits, and the items of its message."""
    event = {"bucket": BUCKET, "key": "rows", "run": name}
    answer = run.client("lambda").invoke(FunctionName=NAME, Payload=json.dumps(event).encode())
    (message,) = run.client("sqs").receive_message(QueueUrl=queue, WaitTimeSeconds=20)["Messages"]
    run.client("sqs").delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    assert json.loads(answer["Payload"].read()) == {"Status": "PENDING"}
    return answer["DurableExecutionArn"], json.loads(message["Body"])["items"]


def ended(run: LocalRun, execution: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = run.client("lambda").get_durable_execution(DurableExecutionArn=execution)
        return None if found["Status"] == "RUNNING" else found

    end = eventually(look)
    assert end
    return end


def logged(run: LocalRun) -> str:
    """Return all that the functions of the stack have logged."""
    groups = run.client("logs").describe_log_groups()["logGroups"]
    names = [each["logGroupName"] for each in groups if not each["logGroupName"].endswith(f"/{NAME}")]
    return repr([run.client("logs").filter_log_events(logGroupName=name)["events"] for name in names])


def test_a_durable_function_fans_out_waits_and_goes_on(run: LocalRun, queue: str) -> None:
    execution, items = started(run, queue, "first")
    key = {"pk": {"S": f"000000000000#{items.partition(':')[0]}"}, "sk": {"S": "token"}}
    rows = {"TableName": run.outputs["BatchesTable"], "Key": key}
    callback_id = run.client("dynamodb").get_item(**rows)["Item"]["durableCallbackId"]["S"]
    fanin = Fanin(run.url)
    fanin.ack(Items.parse(items))
    end = ended(run, execution)

    assert (end["Status"], json.loads(end["Result"])) == ("SUCCEEDED", {"failed": 0})
    assert eventually(lambda: "Item" not in run.client("dynamodb").get_item(**rows))
    assert callback_id not in repr(fanin.status(items.partition(":")[0])) + logged(run)


def test_a_part_of_the_rows_is_in_memory_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aws_durable_execution_sdk_python", MagicMock())
    monkeypatch.setenv("QUEUE_URL", "https://sqs.eu-west-1.amazonaws.com/1/work")
    names: dict[str, Any] = {}
    exec(BLOCK, names)  # noqa: S102
    unsent: list[int] = []

    def lines() -> Iterator[bytes]:
        for number in range(20_100):
            unsent.append(number - 100 * len(fake.sent["work"]))
            yield b"%d" % number

    names["s3"] = MagicMock()
    names["s3"].get_object.return_value["Body"].iter_lines = lines
    with FakeFanin().in_place_of(names["fanin"]) as fake:
        names["fan_out"]({"bucket": BUCKET, "key": "rows", "run": "third"}, "callback")
        assert (len(fake.sent["work"]), max(unsent)) == (201, 9_999)


def test_a_batch_that_is_cancelled_fails_the_callback(run: LocalRun, queue: str) -> None:
    execution, items = started(run, queue, "second")
    Fanin(run.url).cancel(items.partition(":")[0], "not wanted")
    error = ended(run, execution)["Error"]

    assert (error["ErrorType"], error["ErrorMessage"]) == ("fanin.Cancelled", "fanin.Cancelled")
    assert json.loads(error["ErrorData"])["reason"] == "not wanted"


def test_a_callback_that_ends_while_its_function_runs_resumes_it_afterwards(run: LocalRun) -> None:
    create(run, "early", "early.handler", {})
    answer = run.client("lambda").invoke(FunctionName="early", Payload=b"{}")
    end = ended(run, answer["DurableExecutionArn"])

    assert json.loads(answer["Payload"].read()) == {"Status": "PENDING"}
    # The result is how often its step, which is retried, was attempted.
    assert (end["Status"], end["Result"]) == ("SUCCEEDED", "1")


@pytest.fixture(scope="module")
def function_name(run: LocalRun) -> str:
    """The name of the function of the template."""
    run.client("cloudformation").create_stack(StackName="made", TemplateBody=json.dumps(TEMPLATE))
    stacks = run.client("cloudformation").describe_stacks
    assert eventually(lambda: stacks(StackName="made")["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE")
    return "made"


@pytest.mark.parametrize("kind", ["RequestResponse", "Event"])
def test_a_function_of_a_template_is_durable(run: LocalRun, function_name: str, kind: Any) -> None:
    functions = run.client("lambda")
    functions.invoke(FunctionName=function_name, Payload=b"{}", InvocationType=kind)
    found = functions.list_durable_executions_by_function(FunctionName=function_name)["DurableExecutions"]

    assert {ended(run, each["DurableExecutionArn"])["Result"] for each in found} == {"1"}
