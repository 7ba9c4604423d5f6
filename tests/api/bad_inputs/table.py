"""What a bad input is, and how one is made.

In paths and bodies ``<BATCH>`` stands for an open batch of the caller, ``<CLOSED>`` for a closed one,
``<FOREIGN>`` for another tenant's, ``<ITEM>`` for the first item of the open batch and ``<GROUP>`` for its
group. *row* is the row of the table of bad inputs in the design.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

UNKNOWN = "00000000-0000-4000-8000-000000000000"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Bad:
    """One request and the statuses that are a right answer to it."""

    row: int
    name: str
    method: str
    path: str
    body: bytes | None = None
    expect: tuple[int, ...] = (400,)
    headers: dict[str, str] = field(default_factory=lambda: JSON)
    query: dict[str, Any] | None = None
    names: str = ""
    """The field that the problem has to name, if any."""

    def __str__(self) -> str:
        return f"{self.row}-{self.name}"


OPEN, ADD, CLOSE, ACK = "/v1/batches", "/v1/batches/<BATCH>/items", "/v1/batches/<BATCH>/close", "/v1/acks"
CANCEL, NOTIFY = "/v1/batches/<BATCH>/cancel", "/v1/batches/<CLOSED>/notify"
JOBS = "/v1/queues/thumbs/jobs"
PUBLISH = "/v1/publications"
BODIES: dict[str, Any] = {
    OPEN: {},
    ADD: {"count": 1},
    CLOSE: {},
    ACK: {"items": ["<ITEM>"]},
    CANCEL: {},
    NOTIFY: {},
    JOBS: {"jobs": [{"key": "a"}]},
    PUBLISH: {"source": "s3://lake/in/a.jsonl", "queue": "arn:aws:sqs:us-east-1:000000000000:lake-rows"},
}
OUTSTANDING, FAILURES = "/v1/batches/<BATCH>/outstanding", "/v1/batches/<BATCH>/failures"
LISTS = (OPEN, OUTSTANDING, FAILURES)


def as_json(document: Any) -> bytes:
    return json.dumps(document).encode()


def opening(row: int, name: str, document: Any, **more: Any) -> Bad:
    return Bad(row, f"open-{name}", "POST", OPEN, as_json(document), **more)


def adding(row: int, name: str, document: Any, **more: Any) -> Bad:
    return Bad(row, f"add-{name}", "POST", ADD, as_json(document), **more)


def acking(row: int, name: str, document: Any, **more: Any) -> Bad:
    return Bad(row, f"ack-{name}", "POST", ACK, as_json(document), **more)


def everywhere(row: int, name: str, body: bytes | None, **more: Any) -> list[Bad]:
    return [Bad(row, f"{name} {path}", "POST", path, body, **more) for path in BODIES]


def typed(row: int, name: str, headers: dict[str, str], expect: int) -> list[Bad]:
    return [
        Bad(row, f"{name} {path}", "POST", path, as_json(document), (expect,), headers)
        for path, document in BODIES.items()
    ]


def querying(row: int, path: str, name: str, query: dict[str, Any], **more: Any) -> Bad:
    return Bad(row, f"{name} {path}", "GET", path, query=query, **more)
