"""Tenants with something of each kind, and the names of it."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fanin.grouper import TaskMessage
from fanin.queue import MemoryDoorbell, Options, Queue, QueueContext, QueueKey
from functions.wiring import grouping, queueing
from tests.api.gateway import Gateway
from tests.contract import moto_clients

UNKNOWN = "00000000-0000-4000-8000-00000000000"


class Boom(Exception):
    """The work fails."""


@dataclass
class Tenant:
    """A caller of the API from an AWS account, and the marks of what it owns."""

    account: str
    marks: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arn = f"arn:aws:sts::{self.account}:assumed-role/app/session"
        self.gateway = Gateway(authorizer={"iam": {"accountId": self.account, "userArn": arn}})

    def send(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        answer = self.gateway.send(method, path, body, query=query or None)
        assert answer.status < 300, (path, answer.text)
        return answer.body

    def fill(self) -> Tenant:
        """Make something of each kind, two of what is listed."""
        self._batches()
        self._tasks()
        self._jobs()
        self._cursors()
        return self

    def _batches(self) -> None:
        key = f"key-{self.account}"
        headers = {"content-type": "application/json", "idempotency-key": key}
        body = {"userKey": f"user-{self.account}", "labels": {"team": self.account}}
        batch = self.gateway.send("POST", "/v1/batches", body, headers).body["batchId"]
        groups = [self._added(batch, 20) for _ in range(2)]
        self.send("POST", "/v1/acks", {"items": [f"{batch}:{groups[0]}:3"]})
        ended = self.send("POST", "/v1/batches", {})["batchId"]
        group = self._added(ended, 20)
        failures = [f"{ended}:{group}:{index}" for index in (1, 4, 7)]
        acks = [{"itemId": item, "outcome": "failure", "reason": self.account} for item in failures]
        self.send("POST", "/v1/acks", {"acks": acks})
        self.send("POST", f"/v1/batches/{ended}/end", {"reason": "enough"})
        reopened = self.send("POST", f"/v1/batches/{ended}/reopen", {})["batchId"]
        self.marks |= {"KEY": key, "USER": body["userKey"], "TEAM": self.account, "BATCH": batch}
        self.marks |= {"GROUP": groups[0], "ITEM": f"{batch}:{groups[0]}:0", "ENDED": ended}
        self.marks |= {"ENDED_GROUP": group, "REOPENED": reopened}
        self.marks |= {"TOKEN": self._token(batch), "ENDED_TOKEN": self._token(ended)}

    def _token(self, batch: str) -> str:
        token: str = self.send("POST", f"/v1/batches/{batch}/token", {})["token"]
        return token

    def _added(self, batch: str, count: int) -> str:
        group: str = self.send("POST", f"/v1/batches/{batch}/items", {"count": count})["groups"][0]["id"]
        return group

    def _tasks(self) -> None:
        target = f"target-{self.account}"
        for number in range(4):
            for name in (target, f"{target}-b"):
                task = {"target": name, "taskId": f"{name}-{number}", "payload": self.account}
                self.send("POST", "/v1/tasks", task)
            if number < 2:
                lead_all()
        bundles = self.send("GET", "/v1/bundles", target=target)["bundles"]
        self.marks |= {"TARGET": target, "TASK": f"{target}-0", "BUNDLE": bundles[0]["bundleId"]}

    def _jobs(self) -> None:
        name = f"queue-{self.account}"
        for queue in (name, f"{name}-b"):
            jobs = [{"key": f"job-{self.account}-{number}", "payload": "{}"} for number in range(6)]
            self.send("POST", f"/v1/queues/{queue}/jobs", {"jobs": jobs})
        context = QueueContext(
            queueing.store(),
            MemoryDoorbell(),
            QueueKey(self.account, name),
            Options(max_failures=1, renew=True),
        )
        workers = [Queue(context, background=lambda _: lambda: None) for _ in range(2)]
        for worker in (*workers, *workers):
            with suppress(Boom), worker.take(1, wait=0):
                raise Boom
        dead = self.send("GET", f"/v1/queues/{name}/jobs", state="dead")["jobs"]
        self.marks |= {"QUEUE": name, "JOB": f"job-{self.account}-5", "DEAD": dead[0]["deadId"]}

    def _cursors(self) -> None:
        jobs = f"/v1/queues/{self.marks['QUEUE']}"
        target = self.marks["TARGET"]
        lists: dict[str, tuple[str, dict[str, str]]] = {
            "BATCHES_AT": ("/v1/batches", {}),
            "OUTSTANDING_AT": (f"/v1/batches/{self.marks['BATCH']}/outstanding", {}),
            "FAILURES_AT": (f"/v1/batches/{self.marks['ENDED']}/failures", {}),
            "ORIGIN_AT": (f"/v1/batches/{self.marks['REOPENED']}/origin", {}),
            "TASKS_AT": ("/v1/tasks", {"target": target}),
            "BUNDLES_AT": ("/v1/bundles", {"target": target}),
            "TARGETS_AT": ("/v1/targets", {}),
            "QUEUES_AT": ("/v1/queues", {}),
            "JOBS_AT": (f"{jobs}/jobs", {}),
            "SESSIONS_AT": (f"{jobs}/sessions", {}),
        }
        for mark, (path, query) in lists.items():
            body = self.send("GET", path, **query, limit="1")
            assert "cursor" in body, (path, body)
            self.marks[mark] = body["cursor"]


def lead_all() -> None:
    """Process the messages of tasks that are waiting, as the leader's function does."""
    sqs, url = moto_clients.client("sqs"), grouping.settings().tasks_queue
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        for message in messages:
            grouping.grouper().lead(TaskMessage.parse(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def unknown(like: Tenant) -> dict[str, str]:
    """Return names of what no tenant has, each in the form of those of *like*."""
    batch, group = f"{UNKNOWN}1", f"{UNKNOWN}2"
    return {
        "KEY": "key-new",
        "USER": "user-new",
        "TEAM": "team-new",
        "BATCH": batch,
        "ENDED": batch,
        "REOPENED": batch,
        "GROUP": group,
        "ENDED_GROUP": group,
        "ITEM": f"{batch}:{group}:0",
        "TARGET": "target-new",
        "TASK": "task-new",
        "BUNDLE": batch,
        "QUEUE": "queue-new",
        "JOB": "job-new",
        "DEAD": _other(like.marks["DEAD"]),
    }


def _other(dead_id: str) -> str:
    """Return a dead id of the same form, with another number of the job."""
    known = urlsafe_b64decode(dead_id + "=" * (-len(dead_id) % 4))
    number = re.search(rb"[0-9a-f-]{36}", known)
    assert number
    return urlsafe_b64encode(known.replace(number[0], UNKNOWN.encode() + b"3")).decode().rstrip("=")


def filled(given: Any, marks: Mapping[str, str]) -> Any:
    """Return *given* with the names in place of the marks."""
    text = json.dumps(given)
    for mark, name in marks.items():
        text = text.replace(f"<{mark}>", name)
    return json.loads(text)
