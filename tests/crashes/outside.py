"""The services beside DynamoDB as a crash leaves them: what was sent, put, called and ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from botocore import xform_name

from tests.crashes.bucket import Answer, Buckets
from tests.crashes.naming import queue_url

JSON = {"content-type": "application/x-amz-json-1.0"}
CALLBACKS = "/2025-12-01/durable-execution-callbacks/"
MISSING = "AWS.SimpleQueueService.NonExistentQueue;Sender"


@dataclass
class Outside:
    """SQS, EventBridge, S3, Step Functions, Secrets Manager, Lambda and the servers of users.

    ``messages``: bodies by the name of their queue. ``tasks``: how a task of Step Functions, or a callback of
    a durable function, ended, by its token. ``calls``: (URL, idempotency key) of calls of batch APIs and
    webhooks. *answers*: of a batch API.
    """

    queues: set[str] = field(default_factory=set)
    messages: list[tuple[str, str]] = field(default_factory=list)
    delivered: dict[str, int] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    buckets: Buckets = field(default_factory=Buckets)
    tasks: dict[str, tuple[str, str]] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    status: int = 200
    returns: bool = False

    def answer(
        self, service: str, operation: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        """Answer one request of *service*."""
        if service == "s3":
            return self.buckets.answer(operation, url, headers, body)
        if service == "lambda" and operation.startswith("SendDurable"):
            return self._called_back(urlsplit(url).path, body)
        if service == "lambda":
            self.calls.append((urlsplit(url).path, json.loads(body)["idempotencyKey"]))
            return 200, {}, b"null"
        does: Callable[[Mapping[str, Any]], Any] = getattr(self, f"_{service}_{xform_name(operation)}")
        found = does(json.loads(body))
        if isinstance(found, str):
            return _refusal(found)
        return 200, JSON, json.dumps(found).encode()

    def take(self, queue: str) -> tuple[str, ...]:
        """Return the messages of *queue* that were not taken before, as its event source receives them."""
        bodies = [body for name, body in self.messages if name == queue]
        first, self.delivered[queue] = self.delivered.get(queue, 0), len(bodies)
        return tuple(bodies[first:])

    def call(self, url: str, headers: Mapping[str, str]) -> int:
        """Answer a POST to a server of a user's with its status."""
        key = headers.get("Idempotency-Key") or headers["Fanin-Event-Id"]
        self.calls.append((url, key))
        return self.status

    def returned(self, body: bytes) -> bytes:
        """Return the results of the tasks in the *body* of a call, if the batch API returns any."""
        tasks = json.loads(body)["tasks"] if self.returns else []
        rows = [{"taskId": each["taskId"], "outcome": "ok", "result": each["payload"]} for each in tasks]
        return json.dumps({"results": rows}).encode() if rows else b""

    def _sqs_send_message(self, request: Mapping[str, Any]) -> Any:
        name = _name(request["QueueUrl"])
        self.messages.append((name, request["MessageBody"]))
        return {"MessageId": str(len(self.messages))}

    def _sqs_send_message_batch(self, request: Mapping[str, Any]) -> Any:
        name = _name(request["QueueUrl"])
        self.messages += [(name, entry["MessageBody"]) for entry in request["Entries"]]
        return {"Successful": [{"Id": entry["Id"], "MessageId": "m"} for entry in request["Entries"]]}

    def _sqs_change_message_visibility_batch(self, request: Mapping[str, Any]) -> Any:
        self.hidden += [entry["ReceiptHandle"] for entry in request["Entries"]]
        return {"Successful": [{"Id": entry["Id"]} for entry in request["Entries"]]}

    def _sqs_delete_message_batch(self, request: Mapping[str, Any]) -> Any:
        return {"Successful": [{"Id": entry["Id"]} for entry in request["Entries"]]}

    def _sqs_get_queue_url(self, request: Mapping[str, Any]) -> Any:
        name = request["QueueName"]
        return {"QueueUrl": queue_url(name)} if name in self.queues else MISSING

    def _sqs_create_queue(self, request: Mapping[str, Any]) -> Any:
        self.queues.add(request["QueueName"])
        return {"QueueUrl": queue_url(request["QueueName"])}

    def _sqs_get_queue_attributes(self, request: Mapping[str, Any]) -> Any:
        return {"Attributes": {}} if _name(request["QueueUrl"]) in self.queues else MISSING

    def _sqs_delete_queue(self, request: Mapping[str, Any]) -> Any:
        self.queues.discard(_name(request["QueueUrl"]))
        return {}

    def _events_put_events(self, request: Mapping[str, Any]) -> Any:
        self.events += request["Entries"]
        return {"FailedEntryCount": 0, "Entries": [{"EventId": "e"} for _ in request["Entries"]]}

    def _stepfunctions_send_task_success(self, request: Mapping[str, Any]) -> Any:
        return self._ended(request["taskToken"], "succeeded", request["output"])

    def _stepfunctions_send_task_failure(self, request: Mapping[str, Any]) -> Any:
        return self._ended(request["taskToken"], "failed", request["error"])

    def _called_back(self, path: str, body: bytes) -> Answer:
        callback_id, how = unquote(path).removeprefix(CALLBACKS).rsplit("/", 1)
        payload = body.decode() if how == "succeed" else json.loads(body)["ErrorType"]
        refused = self._ended(callback_id, how, payload)
        if refused:
            return 400, {"x-amzn-errortype": "CallbackTimeoutException"}, b"{}"
        return 200, {}, b""

    def _ended(self, token: str, how: str, payload: str) -> Any:
        if token in self.tasks:
            return "TaskTimedOut"
        self.tasks[token] = (how, payload)
        return {}

    def _secretsmanager_get_secret_value(self, request: Mapping[str, Any]) -> Any:
        return {"ARN": request["SecretId"], "SecretString": self.secrets[request["SecretId"]]}


def _name(url: str) -> str:
    return url.rpartition("/")[2]


def _refusal(code: str) -> Answer:
    kind = "QueueDoesNotExist" if code == MISSING else code
    body = {"__type": f"com.amazonaws#{kind}", "message": kind}
    return 400, {**JSON, "x-amzn-query-error": code}, json.dumps(body).encode()
