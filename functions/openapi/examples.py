"""One example of each body and answer; ``tests/api/test_openapi.py`` validates them."""

from __future__ import annotations

import json
from typing import Any

BATCH = "0b8f6f0e-3b1c-4c1b-9a53-8f8f6a1f2c11"
PAGES = "5d1f2a7c-9f4e-4d2b-8a37-1c2d3e4f5a6b"
GROUP = "c0a8f5de-52aa-4f0b-8c44-6a0b7d1e9f20"
BUNDLE = "7e0d4c3b-2a19-4f88-b1c6-5d4e3f2a1b0c"
ITEM = f"{BATCH}:{GROUP}:0"
BEGIN, END, LATER = "2026-03-02T08:00:00.000Z", "2026-03-02T08:20:00.000Z", "2026-03-09T08:00:00.000Z"
TOKEN = f"{BATCH}.1772442000.MTIzNDU2Nzg5MDEy.SrK2Hk6QeI4phGIRLopW8dFqyaiu9ovuq0yqfevgaRQ"
CURSOR = "eyJhIjoiMjAyNi0wMy0wMiJ9"

OPENED = {
    "batchId": BATCH,
    "state": "OPEN",
    "mode": "exact",
    "userKey": "catalog-7",
    "createdAt": BEGIN,
    "expiresAt": LATER,
}
WATCHED = {
    "batchId": BATCH,
    "state": "CLOSED",
    "isClosed": True,
    "isComplete": False,
    "total": 10_000,
    "progress": {"acked": 7_322, "failed": 1, "estimate": 7_322, "upperBound": 7_322, "exact": True},
    "retryAfterSeconds": 2.3,
}
SUMMARY = {
    "batchId": BATCH,
    "userKey": "catalog-7",
    "mode": "exact",
    "state": "COMPLETE",
    "isClosed": True,
    "isComplete": True,
    "result": "succeeded",
    "total": 10_000,
    "failed": 0,
    "labels": {"team": "catalog"},
    "createdAt": BEGIN,
    "closedAt": BEGIN,
    "completedAt": END,
    "endedAt": END,
    "expiresAt": LATER,
}
ENDED = {
    "batchId": BATCH,
    "userKey": "catalog-7",
    "state": "CANCELLED",
    "total": 10_000,
    "result": "cancelled",
    "reason": "wrong catalog",
    "endedAt": END,
}
RANGE = {"groupId": GROUP, "from": 7, "to": 9}
QUEUE = {"queue": "thumbs", "parts": 8, "paused": False, "metrics": False, "phase": "steady"}
DOORBELL = "https://sqs.eu-west-1.amazonaws.com/123456789012/fanin-jobs-thumbs"
JOB = {
    "key": "catalog-7/1",
    "jobId": "9c1d5c1e",
    "state": "dead",
    "priority": 0,
    "payload": "{}",
    "itemId": ITEM,
    "addedAt": BEGIN,
    "queuedSeconds": 0.4,
    "inProgressSeconds": 12.5,
    "deliveries": 3,
    "failures": 3,
    "collisions": 0,
    "error": "TimeoutError: 30 s",
    "diedAt": END,
    "deadId": "Y2F0YWxvZy03LzE",
}
BUNDLED = {
    "bundleId": BUNDLE,
    "target": "mail",
    "state": "DONE",
    "size": 2,
    "attempt": 1,
    "createdAt": BEGIN,
    "expiresAt": LATER,
}
TASK = {"target": "mail", "payload": {"to": "a@example.com"}, "itemId": ITEM}

PUBLISHED = {"source": "s3://lake/in/catalog-7.jsonl", "userKey": "catalog-7"}

EXAMPLES: dict[str, Any] = {
    "StartPublicationBody": PUBLISHED
    | {"queue": "arn:aws:sqs:eu-west-1:123456789012:work", "chunk": 50, "rate": 100},
    "PublicationAnswer": PUBLISHED
    | {
        "batchId": BATCH,
        "state": "OPEN",
        "isPublished": False,
        "rows": 40_000,
        "readBytes": 2_155_556,
        "sizeBytes": 53_888_900,
        "createdAt": BEGIN,
    },
    "OpenBatchBody": {"userKey": "catalog-7", "deadlineSeconds": 21_600, "labels": {"team": "catalog"}},
    "OpenedBatch": OPENED,
    "ListedBatches": {"batches": [SUMMARY], "cursor": CURSOR},
    "BatchResults": {
        "ready": True,
        "manifest": {"manifest": f"results/123456789012/{BATCH}/manifest", "parts": 12, "bytes": 40_960},
        "items": 640,
        "files": [
            {
                "url": "https://shop-results.s3.eu-west-1.amazonaws.com/results/1.jsonl.gz?X-Amz-Expires=900",
                "first": 0,
                "last": 639,
                "items": 640,
                "bytes": 9_120,
            }
        ],
        "expiresAt": END,
    },
    "ListedChildren": {"batches": [SUMMARY | {"parentItemId": ITEM}], "cursor": CURSOR},
    "BatchAnswer": SUMMARY
    | {
        "progress": {"acked": 10_000, "failed": 0, "estimate": 10_000, "upperBound": 10_000, "exact": True},
        "event": {"eventId": f"{BATCH}:COMPLETE", "type": "BatchCompleted", "confirmed": True},
    },
    "ProgressTokenBody": {"expiresSeconds": 3600},
    "IssuedToken": {"batchId": BATCH, "token": TOKEN, "expiresAt": "2026-03-02T09:00:00.000Z"},
    "WatchedBatch": WATCHED,
    "EventStream": f"retry: 2300\nevent: progress\ndata: {json.dumps(WATCHED)}\n\n",
    "MapAnswer": {
        "from": 0,
        "to": 10_000,
        "cellItems": 3_072,
        "acked": [3_072, 3_072, 1_250, 0],
        "failed": [0, 0, 1, 0],
        "exact": True,
    },
    "AddItemsBody": {"count": 10_000},
    "AddedItems": {"batchId": BATCH, "groups": [{"id": GROUP, "upto": 10_000}], "total": 10_000},
    "CloseBatchBody": {},
    "ClosedBatch": {
        "batchId": BATCH,
        "userKey": "catalog-7",
        "state": "CLOSED",
        "total": 10_000,
        "isComplete": False,
        "completedByYou": False,
    },
    "CancelBatchBody": {"reason": "wrong catalog"},
    "CancelledBatch": ENDED,
    "EndBatchBody": {"reason": "3 items are lost"},
    "EndedBatch": ENDED
    | {"state": "FAILED", "result": "forced", "reason": "3 items are lost", "endedBy": "ops"},
    "AckItemsBody": {
        "acks": [
            {"itemId": ITEM},
            {"batchId": BATCH, "groupId": GROUP, "from": 1, "to": 6},
            {"itemId": f"{BATCH}:{GROUP}:7", "outcome": "failure", "reason": "no picture"},
        ]
    },
    "AckedItems": {
        "results": [
            {"itemId": ITEM, "verdict": "accepted"},
            {
                "batchId": BATCH,
                "groupId": GROUP,
                "from": 1,
                "to": 6,
                "counts": {"accepted": 5, "duplicate": 1},
            },
            {"itemId": f"{BATCH}:{GROUP}:7", "verdict": "accepted"},
        ],
        "completions": [
            {
                "batchId": BATCH,
                "userKey": "catalog-7",
                "result": "completed_with_failures",
                "completedByYou": True,
            }
        ],
    },
    "OutstandingItems": {"ranges": [RANGE], "cursor": CURSOR},
    "FailedItems": {
        "ranges": [RANGE],
        "samples": [{"itemId": f"{BATCH}:{GROUP}:7", "reason": "no picture", "at": END}],
    },
    "NotifyBatchBody": {},
    "NotifiedBatch": {"batchId": BATCH, "state": "COMPLETE", "eventId": f"{BATCH}:COMPLETE"},
    "ReopenBatchBody": {"items": "unfinished", "deadlineSeconds": 3_600},
    "ReopenedBatch": OPENED
    | {
        "batchId": PAGES,
        "state": "CLOSED",
        "originBatchId": BATCH,
        "groups": [{"id": GROUP, "upto": 3}],
        "total": 3,
    },
    "OriginItems": {
        "originBatchId": BATCH,
        "pairs": [{"item": {"groupId": GROUP, "from": 0, "to": 2}, "origin": RANGE}],
    },
    "DeletedBatch": {"batchId": BATCH},
    "DeletedBatches": {"deleted": 25, "unconfirmed": 0, "more": True, "cursor": CURSOR},
    "RegisterTaskBody": TASK,
    "RegisteredTask": {"taskId": "mail-1", "state": "CREATED"},
    "RegisteredTasks": {"results": [{"taskId": "mail-1", "state": "CREATED"}]},
    "ListedTasks": {
        "tasks": [{"taskId": "mail-1", "state": "BUNDLED", "bundleId": BUNDLE, "dueAt": BEGIN}],
        "cursor": CURSOR,
    },
    "TaskAnswer": {
        "taskId": "mail-1",
        "target": "mail",
        "state": "SUCCEEDED",
        "priority": 0,
        "attempts": 1,
        "bundleId": BUNDLE,
        "itemId": ITEM,
        "createdAt": BEGIN,
        "dueAt": BEGIN,
        "expiresAt": LATER,
    },
    "ListedBundles": {"bundles": [BUNDLED]},
    "BundleAnswer": BUNDLED
    | {"members": [{"taskId": "mail-1", "verdict": "ok"}, {"taskId": "mail-2", "verdict": "retry"}]},
    "ListedTargets": {
        "targets": [
            {
                "target": "mail",
                "shards": 1,
                "waiting": 12,
                "waitingMore": False,
                "inFlight": 1,
                "nextWindowAt": END,
                "rate": 20,
                "leaders": 1,
                "leaseUntil": END,
            }
        ]
    },
    "Health": {"status": "ok"},
    "QueueBody": {"parts": 8},
    "QueueAnswer": QUEUE
    | {"doorbellUrl": DOORBELL, "doorbellArn": "arn:aws:sqs:eu-west-1:123456789012:fanin-jobs-thumbs"},
    "QueueFacts": QUEUE | {"paused": True},
    "QueueStatusAnswer": QUEUE
    | {
        "activity": "inUse",
        "doorbellUrl": DOORBELL,
        "depth": {"queued": 40, "inProgress": 8, "delayed": 0, "dead": 1, "accuracy": "exact"},
        "oldestSeconds": 3.2,
        "countedAt": END,
    },
    "RemovedQueue": {"queue": "thumbs", "state": "REMOVING"},
    "ListedSessions": {
        "sessions": [
            {
                "id": "w-1",
                "kind": "worker",
                "host": "worker-1",
                "pid": 17,
                "startedAt": BEGIN,
                "heartbeats": 40,
                "live": True,
            }
        ]
    },
    "AddJobsBody": {"jobs": [{"key": "catalog-7/1", "payload": "{}", "itemId": ITEM}]},
    "AddedJobs": {"added": ["catalog-7/1"], "rejected": [{"key": "catalog-7/2", "state": "queued"}]},
    "ListedJobs": {"jobs": [JOB], "cursor": CURSOR},
    "DeleteJobsBody": {"keys": ["catalog-7/1"]},
    "DeletedJobs": {"jobs": [{"key": "catalog-7/1", "outcome": "deleted"}], "dead": []},
    "ReviveBody": {"all": True},
    "RevivedAnswer": {"revived": 3, "notRevived": [{"deadId": "Y2F0YWxvZy03LzE", "reason": "liveJob"}]},
}
EXAMPLES["ListedQueues"] = {"queues": [EXAMPLES["QueueStatusAnswer"]], "cursor": CURSOR}
