"""Documents of the API for what has no tables here: targets, tasks, bundles and work queues."""

from __future__ import annotations

from typing import Any

from tests.dashboard.serving import Api

AT = "2026-11-22T12:00:00.000Z"
BUNDLE = "b-0f8d2a31"
TARGET: dict[str, Any] = {"shards": 4, "waiting": 0, "waitingMore": False, "inFlight": 2, "leaders": 0}
UNTIL = "2099-01-01T00:00:00.000Z"
LED: dict[str, Any] = {"leaders": 2, "leaseUntil": UNTIL, "rate": 2.5, "nextCallAt": AT}
TASKS: list[dict[str, Any]] = [
    {"taskId": "order-1", "state": "BUNDLED", "dueAt": AT, "bundleId": BUNDLE},
    {"taskId": "order-2", "state": "DEAD", "dueAt": AT, "reason": "HTTP 400: no such order"},
]
SAMPLES: dict[str, dict[str, Any]] = {
    "/v1/targets": {
        "targets": [
            TARGET | LED | {"target": "mail/eu", "waiting": 120, "waitingMore": True},
            TARGET | {"target": "search"},
        ]
    },
    "/v1/bundles": {
        "bundles": [
            {
                "bundleId": BUNDLE,
                "target": "mail/eu",
                "state": "CALLING",
                "size": 2,
                "attempt": 1,
                "createdAt": AT,
                "expiresAt": AT,
            }
        ]
    },
    f"/v1/bundles/{BUNDLE}": {
        "bundleId": BUNDLE,
        "target": "mail/eu",
        "state": "DONE",
        "size": 2,
        "attempt": 1,
        "createdAt": AT,
        "expiresAt": AT,
        "members": [
            {"taskId": "order-1", "verdict": "ok"},
            {"taskId": "order-2", "verdict": "fail", "reason": "no"},
        ],
    },
}
QUEUE: dict[str, Any] = {
    "queue": "thumbs",
    "parts": 8,
    "paused": False,
    "metrics": False,
    "phase": "steady",
    "activity": "inUse",
    "depth": {"queued": 1042, "inProgress": 16, "delayed": 3, "dead": 2, "accuracy": "approximate"},
    "oldestSeconds": 37.5,
    "countedAt": AT,
}
JOB: dict[str, Any] = {
    "key": "photo-17",
    "jobId": "0f8d2a31",
    "state": "queued",
    "priority": 0,
    "addedAt": AT,
    "queuedSeconds": 37.5,
    "inProgressSeconds": 0.0,
    "deliveries": 1,
    "failures": 1,
    "collisions": 0,
    "error": "OSError: no space left",
}
SESSION: dict[str, Any] = {
    "id": "s-1",
    "kind": "worker",
    "live": True,
    "host": "worker-1",
    "pid": 4711,
    "startedAt": AT,
    "heartbeats": 12,
}
SAMPLES |= {
    "/v1/queues": {"queues": [QUEUE, QUEUE | {"queue": "videos", "paused": True}]},
    "/v1/queues/thumbs": QUEUE,
    "/v1/queues/thumbs/jobs": {"jobs": [JOB]},
    "/v1/queues/thumbs/sessions": {"sessions": [SESSION]},
}
EVENTS = [
    {
        "time": AT,
        "detailType": "BatchCompleted",
        "detail": {
            "batchId": "00000000-0000-0000-0000-000000000000",
            "eventId": "00000000-0000-0000-0000-000000000000:COMPLETE",
            "userKey": "catalog-8",
            "result": "completed_with_failures",
            "failed": 3,
            "total": 10,
        },
    },
    {
        "time": AT,
        "detailType": "TaskFailed",
        "detail": {
            "eventId": "order-2:b-0f8d2a31:DEAD",
            "taskId": "order-2",
            "target": "mail/eu",
            "reason": "HTTP 400: no such order",
        },
    },
]


def put(api: Api) -> None:
    """Answer with the samples in place of the handlers, which have no tables here."""
    api.instead |= {path: (200, body) for path, body in SAMPLES.items()}
    api.instead["/v1/tasks"] = (200, tasks)


def tasks(query: dict[str, str]) -> dict[str, Any]:
    """The tasks of a target in the state that is asked for; *search* has none."""
    found = [task for task in TASKS if task["state"] == query["state"]]
    return {"tasks": found if query["target"] == "mail/eu" else []}
