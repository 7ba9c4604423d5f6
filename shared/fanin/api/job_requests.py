"""What callers send to a work queue."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from fanin.api.requests import Body, ItemIdText
from fanin.queue import NewJob
from fanin.queue.keys import NAME_BYTES_MAX
from fanin.queue.model import DELAY_MAX_SECONDS, PAYLOAD_BYTES_MAX
from fanin.queue.order import PRIORITY_MAX

JOBS_MAX = 100
OF_KEYS = UUID("5b8c2b07-6f0e-5d9c-9a35-0f1c2c7be3d1")


def _short(key: str) -> str:
    if len(key.encode()) > NAME_BYTES_MAX:
        raise PydanticCustomError("key_bytes", "a key has at most {most} bytes", {"most": NAME_BYTES_MAX})
    return key


def _small(payload: Any) -> Any:
    text = _text(payload)
    if text is not None and len(text.encode()) > PAYLOAD_BYTES_MAX:
        raise PydanticCustomError(
            "payload_bytes", "a payload has at most {most} bytes", {"most": PAYLOAD_BYTES_MAX}
        )
    return payload


JobKeyText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=NAME_BYTES_MAX),
    AfterValidator(_short),
    Field(description="What makes the job distinct: 1 to 2,048 bytes."),
]
Payload = Annotated[
    Any,
    AfterValidator(_small),
    Field(description="Text of up to 128 KiB; any other JSON value arrives as its JSON text."),
]
Priority = Annotated[int, Field(ge=0, le=PRIORITY_MAX, description="The larger goes first; 0 is usual.")]
Delay = Annotated[
    float,
    Field(
        ge=0,
        le=DELAY_MAX_SECONDS,
        allow_inf_nan=False,
        description="Seconds before it may be taken, 366 days at most.",
    ),
]


class JobBody(Body):
    """A job; *itemId* is acked when it ends."""

    key: JobKeyText
    payload: Payload = None
    priority: Priority = 0
    delay_seconds: Delay = 0
    item_id: ItemIdText | None = None

    def wish(self, key: str | None) -> NewJob:
        """As the queue takes it; an idempotency *key* gives the job its id, so that an add is repeatable."""
        job_id = None if key is None else str(uuid5(OF_KEYS, f"{key}\n{self.key}"))
        text = _text(self.payload)
        return NewJob(self.key, text, self.priority, self.delay_seconds, self.item_id, job_id)


class AddJobsBody(Body):
    """Jobs to add: each that is refused is told apart from the others."""

    jobs: Annotated[list[JobBody], Field(min_length=1, max_length=JOBS_MAX)]
    on_busy: Annotated[
        Literal["reject", "rerun"],
        Field(description="`rerun`: a job whose key is in progress is added, to follow the one under way."),
    ] = "reject"

    def wishes(self, key: str | None) -> list[NewJob]:
        """As the queue takes them."""
        return [job.wish(key) for job in self.jobs]

    def said(self) -> str:
        """All of it, in one form."""
        return self.model_dump_json(by_alias=True)


def _text(payload: Any) -> str | None:
    if payload is None or isinstance(payload, str):
        return payload
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False)
