"""Each kind of batch API as it is deployed, and tasks from the registrations queue."""

from __future__ import annotations

import io
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from fanin import Fanin, NewTask
from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions
from fanin.settings.settings_file import VARIABLE, SettingsFile
from lab.local.grouping import endings
from lab.local.races import Api
from tests.polling import eventually

HANDLERS = (
    "api.write_tasks",
    "consume_tasks",
    "api.read_tasks",
    "lead_tasks",
    "handle_bundle",
    "sweep_groups",
)
FIRST, SECOND = "Bearer first-t0ken", "Bearer second-t0ken"
CODE = """
def handler(event, context):
    tasks = event["tasks"]
    return {"results": [
        {"taskId": task["taskId"], "outcome": "fail", "detail": event["idempotencyKey"]}
        for task in tasks if task["payload"] == "refuse me"
    ] + [
        {"taskId": task["taskId"], "outcome": "ok", "result": task["payload"]["doubles"] * 2}
        for task in tasks if "doubles" in task["payload"]
    ]}
"""


class Guarded(BaseHTTPRequestHandler):
    """A batch API that asks for the second token, or for a signature; remembers what it was sent."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        given = self.headers.get("Authorization", "")
        self.asked.append((self.path, given))
        self.send_response(204 if given == SECOND or given.startswith("AWS4-HMAC-SHA256") else 401)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def secret(run: LocalRun) -> str:
    created = run.client("secretsmanager").create_secret(
        Name="batch-api", SecretString=json.dumps({"Authorization": FIRST})
    )
    arn: str = created["ARN"]
    return arn


@pytest.fixture(scope="module")
def function(run: LocalRun) -> str:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("batch.py", CODE)
    created = run.client("lambda").create_function(
        FunctionName="batch",
        Runtime=f"python3.{sys.version_info.minor}",
        Role="arn:aws:iam::000000000000:role/batch",
        Handler="batch.handler",
        Code={"ZipFile": packed.getvalue()},
    )
    arn: str = created["FunctionArn"]
    return arn


@pytest.fixture(scope="module", autouse=True)
def configured(run: LocalRun, guarded: str, secret: str, function: str) -> None:
    signing = {
        "service": "execute-api",
        "region": "us-east-1",
        "actions": ["execute-api:Invoke"],
        "resource": "arn:aws:execute-api:us-east-1:000000000000:abcdef1234/prod/POST/batch",
    }
    file = SettingsFile(
        grouper_downstream=[
            {"pattern": "guarded", "url": f"{guarded}/secret", "secret": secret},
            {"pattern": "signed", "url": f"{guarded}/signed", "signing": signing},
            {"pattern": "invoked/*", "function": function},
        ],
        grouper_target="invoked/{customer}",
    )
    functions.configure(run.client("lambda"), HANDLERS, {VARIABLE: file.to_json()})


def is_there(api: Api, task_id: str) -> bool:
    status: int = api.pool.request("GET", f"{api.url}/v1/tasks/{task_id}").status
    return status == 200


@pytest.mark.proof
@pytest.mark.side_by_side
def test_a_bearer_token_is_read_again_after_it_was_refused(
    run: LocalRun, api: Api, secret: str, configured: None
) -> None:
    api.post("/v1/tasks", {"taskId": "before", "target": "guarded", "payload": 1})
    assert eventually(lambda: ("/secret", FIRST) in Guarded.asked)
    run.client("secretsmanager").put_secret_value(
        SecretId=secret, SecretString=json.dumps({"Authorization": SECOND})
    )
    found = endings(api, ["before"])
    api.post("/v1/tasks", {"taskId": "after", "target": "guarded", "payload": 1})

    assert found["before"]["state"] == "SUCCEEDED"
    assert endings(api, ["after"])["after"]["state"] == "SUCCEEDED"
    assert {given for path, given in Guarded.asked if path == "/secret"} == {FIRST, SECOND}


@pytest.mark.side_by_side
def test_a_request_is_signed_with_the_credentials_of_the_function(api: Api, configured: None) -> None:
    api.post("/v1/tasks", {"taskId": "signed", "target": "signed", "payload": 1})
    found = endings(api, ["signed"])

    assert found["signed"]["state"] == "SUCCEEDED"
    assert any("/execute-api/aws4_request" in given for path, given in Guarded.asked if path == "/signed")


@pytest.mark.side_by_side
def test_a_function_is_invoked_for_tasks_of_a_queue_with_computed_targets(
    run: LocalRun, api: Api, configured: None
) -> None:
    sqs, url = run.client("sqs"), run.outputs["RegistrationsQueueUrl"]
    bodies = [
        {"taskId": "good", "payload": {"customer": "acme"}},
        {"taskId": "bad", "target": "invoked/acme", "payload": "refuse me"},
        {"taskId": "nowhere", "payload": {}},
    ]
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=json.dumps(body))
    assert eventually(lambda: is_there(api, "good") and is_there(api, "bad"))
    found = endings(api, ["good", "bad"])

    assert (found["good"]["state"], found["good"]["target"]) == ("SUCCEEDED", "invoked/acme")
    assert (found["bad"]["state"], found["bad"]["reason"]) == ("FAILED", found["bad"]["bundleId"])
    assert not is_there(api, "nowhere")


@pytest.mark.side_by_side
def test_the_result_of_a_task_is_that_of_its_item(run: LocalRun, configured: None) -> None:
    fanin = Fanin(run.url)
    with fanin.open(results=True) as batch:
        items = batch.add(3)
        fanin.tasks.register(
            [NewTask("invoked/acme", {"doubles": n}, item_id=item) for n, item in enumerate(items)]
        )
    assert batch.wait(60).result == "succeeded"

    assert list(batch.results()) == [(item, 2 * n) for n, item in enumerate(items)]
