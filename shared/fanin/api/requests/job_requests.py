"""The request bodies of the work queues' routes."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from fanin.api.requests.bodies import Body, ItemIdText
from fanin.queue import NewJob
from fanin.queue.rules.keys import NAME_BYTES_MAX, PARTS_MAX
from fanin.queue.rules.model import ID_BYTES_MAX, PAYLOAD_BYTES_MAX, SECONDS_MAX
from fanin.queue.rules.order import PRIORITY_MAX
from fanin.result_texts import json_text

JOBS_MAX = 100
OF_KEYS = UUID("5b8c2b07-6f0e-5d9c-9a35-0f1c2c7be3d1")


def _short(key: str) -> str:
    if len(key.encode()) > NAME_BYTES_MAX:
        raise PydanticCustomError("key_bytes", "a key has at most {most} bytes", {"most": NAME_BYTES_MAX})
    return key


def _short_id(job_id: str) -> str:
    if len(job_id.encode()) > ID_BYTES_MAX:
        raise PydanticCustomError("id_bytes", "a job id has at most {most} bytes", {"most": ID_BYTES_MAX})
    return job_id


def _small(payload: Any) -> Any:
    if len(json_text(payload, "payload").encode()) > PAYLOAD_BYTES_MAX:
        raise PydanticCustomError(
            "payload_bytes", "a payload has at most {most} bytes", {"most": PAYLOAD_BYTES_MAX}
        )
    return payload


JobKeyText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=NAME_BYTES_MAX),
    AfterValidator(_short),
    Field(description="The distinct key of the job: 1 to 2,048 bytes."),
]
Payload = Annotated[
    Any,
    AfterValidator(_small),
    Field(description="A JSON value of up to 128 KiB, which the worker gets as it is."),
]
Priority = Annotated[
    int,
    Field(ge=0, le=PRIORITY_MAX, description="Higher is taken first; the default is 0."),
]
Delay = Annotated[
    float,
    Field(
        ge=0,
        le=SECONDS_MAX,
        allow_inf_nan=False,
        description="Seconds before the job can be taken, 366 days at most.",
    ),
]

JobId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=ID_BYTES_MAX),
    AfterValidator(_short_id),
    Field(description="The id of the job: an add that repeats it within an hour has the first answer."),
]


class JobBody(Body):
    """A job to add; the item *itemId* is acked when the job ends.

    *jobId*: makes the add repeatable, as an idempotency key does for the request.
    """

    key: JobKeyText
    payload: Payload = None
    priority: Priority = 0
    delay_seconds: Delay = 0
    item_id: ItemIdText | None = None
    job_id: JobId | None = None

    def new_job(self, key: str | None) -> NewJob:
        """Return the job to add; its id follows from an idempotency *key*, so that the add is repeatable."""
        job_id = self.job_id
        if job_id is None and key is not None:
            job_id = str(uuid5(OF_KEYS, f"{key}\n{self.key}"))
        return NewJob(self.key, self.payload, self.priority, self.delay_seconds, self.item_id, job_id)


class AddJobsBody(Body):
    """Jobs to add; each of them is added or rejected by itself."""

    jobs: Annotated[list[JobBody], Field(min_length=1, max_length=JOBS_MAX)]
    on_busy: Annotated[
        Literal["reject", "rerun"],
        Field(description="`rerun`: where a job of the key is in progress, request one more run after it."),
    ] = "reject"

    def new_jobs(self, key: str | None) -> list[NewJob]:
        """Return the jobs to add."""
        return [job.new_job(key) for job in self.jobs]

    def canonical(self) -> str:
        """Return the request as canonical JSON: equal requests have equal texts."""
        return self.model_dump_json(by_alias=True)


class QueueBody(Body):
    """The settings of a work queue; what is absent stays as it is, or has its default in a new queue."""

    parts: Annotated[
        int | None,
        Field(
            ge=1,
            le=PARTS_MAX,
            description="The partitions of its jobs: 1 to 256, in a new queue 8; can be raised.",
        ),
    ] = None
    metrics: Annotated[
        bool | None,
        Field(description="Whether CloudWatch metrics of this queue are emitted; in a new queue `false`."),
    ] = None
