"""For each route, requests with names of another tenant: of each kind that the route takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Foreign:
    """A request with a name of another tenant. *kind*: what it names."""

    kind: str
    path: str
    body: Any = None
    query: dict[str, str] = field(default_factory=dict)
    key: str | None = None


RANGE = {"groupId": "<GROUP>", "from": "0", "to": "4"}
PUBLISHED = {"source": "s3://lake/in/rows.jsonl", "queue": "arn:aws:sqs:us-east-1:123456789012:work"}
TASK = {"target": "mine", "payload": 1, "taskId": "mine"}


def _of_batch(action: str = "", body: Any = None, **query: str) -> Foreign:
    return Foreign("batch", f"/v1/batches/<BATCH>{action}", body, query)


def _ended(action: str = "", body: Any = None, **query: str) -> Foreign:
    return Foreign("ended batch", f"/v1/batches/<ENDED>{action}", body, query)


def _of_queue(action: str = "", body: Any = None, **query: str) -> Foreign:
    return Foreign("queue", f"/v1/queues/<QUEUE>{action}", body, query)


def _at(path: str, mark: str, **query: str) -> Foreign:
    return Foreign("cursor", path, query={**query, "cursor": f"<{mark}>"})


FOREIGN: dict[str, list[Foreign]] = {
    "POST /v1/batches": [
        Foreign("item", "/v1/batches", {"parentItemId": "<ITEM>"}),
        Foreign("idempotency key", "/v1/batches", {"userKey": "other"}, key="<KEY>"),
        Foreign("user key", "/v1/batches", {"userKey": "<USER>"}),
    ],
    "GET /v1/batches": [
        Foreign("user key", "/v1/batches", query={"userKey": "<USER>"}),
        Foreign("user key", "/v1/batches", query={"userKeyPrefix": "<USER>"}),
        Foreign("label", "/v1/batches", query={"label": "team:<TEAM>"}),
        _at("/v1/batches", "BATCHES_AT"),
    ],
    "GET /v1/batches/{batchId}": [_of_batch(), _of_batch(progress="none"), _ended()],
    "GET /v1/batches/{batchId}/map": [_of_batch("/map"), _ended("/map")],
    "POST /v1/batches/{batchId}/token": [_of_batch("/token", {}), _ended("/token", {})],
    "GET /v1/progress": [],  # its token names its tenant: tests/tracker/test_progress_tokens.py
    "POST /v1/batches/{batchId}/items": [
        _of_batch("/items", {"count": 3}),
        Foreign("idempotency key", "/v1/batches/<BATCH>/items", {"count": 20}, key="<KEY>"),
    ],
    "POST /v1/batches/{batchId}/close": [_of_batch("/close", {})],
    "POST /v1/batches/{batchId}/cancel": [_of_batch("/cancel", {}), _of_batch("/cancel", {"children": True})],
    "POST /v1/batches/{batchId}/notify": [_of_batch("/notify", {}), _ended("/notify", {})],
    "GET /v1/batches/{batchId}/outstanding": [
        _of_batch("/outstanding"),
        _of_batch("/outstanding", **RANGE),
        _of_batch("/outstanding", cursor="<OUTSTANDING_AT>"),
        _at("/v1/batches/<MINE>/outstanding", "OUTSTANDING_AT"),
        Foreign("group", "/v1/batches/<MINE>/outstanding", query=RANGE),
    ],
    "GET /v1/batches/{batchId}/failures": [
        _ended("/failures"),
        _ended("/failures", **{**RANGE, "groupId": "<ENDED_GROUP>"}),
        _ended("/failures", cursor="<FAILURES_AT>"),
        Foreign("group", "/v1/batches/<MINE>/failures", query=RANGE),
    ],
    "POST /v1/batches/{batchId}/reopen": [_ended("/reopen", {}), _ended("/reopen", {"items": "unfinished"})],
    "GET /v1/batches/{batchId}/children": [
        _of_batch("/children"),
        Foreign("item", "/v1/batches/<MINE>/children", query={"itemId": "<ITEM>"}),
    ],
    "GET /v1/batches/{batchId}/results": [
        _ended("/results"),
        Foreign("item", "/v1/batches/<MINE>/results", query={"item": "<ITEM>"}),
    ],
    "GET /v1/batches/{batchId}/origin": [
        Foreign("batch", "/v1/batches/<REOPENED>/origin"),
        Foreign("batch", "/v1/batches/<REOPENED>/origin", query={"cursor": "<ORIGIN_AT>"}),
    ],
    "POST /v1/batches/{batchId}/end": [_of_batch("/end", {"reason": "mine now"})],
    "DELETE /v1/batches/{batchId}": [_of_batch(), _ended()],
    "DELETE /v1/batches": [
        Foreign(
            "cursor", "/v1/batches", query={"endedBefore": "2020-01-01T00:00:00Z", "cursor": "<BATCHES_AT>"}
        )
    ],
    "POST /v1/acks": [
        Foreign("item", "/v1/acks", {"items": ["<ITEM>"]}),
        Foreign("item", "/v1/acks", {"acks": [{"itemId": "<ITEM>", "outcome": "failure", "reason": "x"}]}),
        Foreign("group", "/v1/acks", {"items": ["<MINE>:<GROUP>:0"]}),
        Foreign(
            "batch", "/v1/acks", {"acks": [{"batchId": "<BATCH>", "groupId": "<GROUP>", "from": 0, "to": 9}]}
        ),
        Foreign("idempotency key", "/v1/acks", {"items": ["<ITEM>"]}, key="<KEY>"),
    ],
    "POST /v1/tasks": [
        Foreign("target", "/v1/tasks", {**TASK, "target": "<TARGET>", "taskId": "<FRESH>"}),
        Foreign("task", "/v1/tasks", {**TASK, "taskId": "<TASK>", "payload": 2}),
        Foreign("item", "/v1/tasks", {**TASK, "taskId": "<FRESH>-2", "itemId": "<ITEM>"}),
        Foreign("idempotency key", "/v1/tasks", {"target": "mine", "payload": 3}, key="<KEY>"),
    ],
    "GET /v1/tasks": [
        Foreign("target", "/v1/tasks", query={"target": "<TARGET>"}),
        Foreign("target", "/v1/tasks", query={"target": "<TARGET>", "state": "BUNDLED"}),
        _at("/v1/tasks", "TASKS_AT", target="target-222233334444"),
    ],
    "GET /v1/tasks/{taskId}": [Foreign("task", "/v1/tasks/<TASK>")],
    "GET /v1/bundles": [
        Foreign("target", "/v1/bundles", query={"target": "<TARGET>"}),
        _at("/v1/bundles", "BUNDLES_AT", target="target-222233334444"),
    ],
    "GET /v1/bundles/{bundleId}": [Foreign("bundle", "/v1/bundles/<BUNDLE>")],
    "GET /v1/health": [],
    "GET /v1/targets": [_at("/v1/targets", "TARGETS_AT")],
    "POST /v1/queues/{queue}/jobs": [
        _of_queue("/jobs", {"jobs": [{"key": "<JOB>"}]}),
        Foreign("item", "/v1/queues/<FRESH>/jobs", {"jobs": [{"key": "k", "itemId": "<ITEM>"}]}),
        Foreign("idempotency key", "/v1/queues/<FRESH>/jobs", {"jobs": [{"key": "j"}]}, key="<KEY>"),
    ],
    "PUT /v1/queues/{queue}": [_of_queue("", {"parts": 2})],
    "GET /v1/queues/{queue}/jobs": [
        _of_queue("/jobs"),
        _of_queue("/jobs", state="dead"),
        _at("/v1/queues/queue-222233334444/jobs", "JOBS_AT"),
    ],
    "GET /v1/queues": [_at("/v1/queues", "QUEUES_AT")],
    "GET /v1/queues/{queue}": [_of_queue()],
    "GET /v1/queues/{queue}/sessions": [
        _of_queue("/sessions"),
        _at("/v1/queues/queue-222233334444/sessions", "SESSIONS_AT"),
    ],
    "POST /v1/queues/{queue}/pause": [_of_queue("/pause", {})],
    "POST /v1/queues/{queue}/resume": [_of_queue("/resume", {})],
    "POST /v1/queues/{queue}/dead/revive": [
        _of_queue("/dead/revive", {"all": True}),
        Foreign("dead job", "/v1/queues/queue-222233334444/dead/revive", {"deadIds": ["<DEAD>"]}),
    ],
    "POST /v1/queues/{queue}/jobs/delete": [
        _of_queue("/jobs/delete", {"keys": ["<JOB>"]}),
        Foreign("job", "/v1/queues/queue-222233334444/jobs/delete", {"keys": ["<JOB>"]}),
        Foreign("dead job", "/v1/queues/queue-222233334444/jobs/delete", {"deadIds": ["<DEAD>"]}),
    ],
    "POST /v1/publications": [
        Foreign("user key", "/v1/publications", {**PUBLISHED, "userKey": "<USER>"}),
        Foreign("item", "/v1/publications", {**PUBLISHED, "parentItemId": "<ITEM>"}),
        Foreign("idempotency key", "/v1/publications", PUBLISHED, key="<KEY>"),
    ],
    "GET /v1/publications/{batchId}": [Foreign("batch", "/v1/publications/<BATCH>")],
    "DELETE /v1/queues/{queue}": [_of_queue(), _of_queue(force="true")],
}
"""By route. ``<MINE>`` is a batch of the caller, whose account is 222233334444, ``<FRESH>`` a new name; the
other marks are those of the other tenant.
"""
KINDS = frozenset(each.kind for requests in FOREIGN.values() for each in requests)
