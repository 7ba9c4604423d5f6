"""The work queues' handlers, and what each is granted on the table of jobs and on the doorbells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fanin.names import JOBS_INDEX, QUEUES_INDEX, TENANT_QUEUES_INDEX
from fanin_cdk.grants.handlers import CHANGE as CHANGE_BATCHES
from fanin_cdk.grants.handlers import CHANGE_PAGES, KEEP, Handler, all_of


@dataclass(frozen=True, kw_only=True, slots=True)
class JobHandler:
    """A Lambda function of the work queues. *lambda_* has its name and its grants on the tracker's tables.

    ``table``: DynamoDB actions on the table of jobs. ``lists_jobs``, ``lists_queues``, ``lists_tenants``:
    whether it queries the index of jobs, that of queues, and that of each tenant's queues. ``doorbells``: SQS
    actions on the doorbells of all queues.
    """

    lambda_: Handler
    table: tuple[str, ...]
    lists_jobs: bool = False
    lists_queues: bool = False
    lists_tenants: bool = False
    doorbells: tuple[str, ...] = ()

    @property
    def indexes(self) -> list[str]:
        """The indexes that it queries."""
        listed = {
            JOBS_INDEX: self.lists_jobs,
            QUEUES_INDEX: self.lists_queues,
            TENANT_QUEUES_INDEX: self.lists_tenants,
        }
        return [name for name, is_read in listed.items() if is_read]


RING = ("sqs:SendMessage",)
# A doorbell is looked up by the names that it can have, and created where it does not exist.
# The tags of a new one take an action of their own.
CREATE = ("sqs:CreateQueue", "sqs:GetQueueUrl", "sqs:TagQueue")
# An existing one is given the key and the tags of the stack.
UPDATE = ("sqs:GetQueueAttributes", "sqs:SetQueueAttributes", "sqs:TagQueue")
# Granted for the doorbells that functions make, and not for those of the stack.
OF_OWN = ("sqs:CreateQueue", "sqs:DeleteQueue", *UPDATE)
# A refused add counts a collision on the job that refused it. In a raise, adds check a second row.
ADD = ("dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem")

JOB_API: Mapping[str, Sequence[JobHandler]] = {
    "read_queues": (
        JobHandler(
            lambda_=Handler(name="list_jobs", routes=("GET /v1/queues/{queue}/jobs",)),
            table=("dynamodb:BatchGetItem", "dynamodb:GetItem"),
            lists_jobs=True,
        ),
        JobHandler(
            lambda_=Handler(name="list_queues", routes=("GET /v1/queues",)),
            table=("dynamodb:BatchGetItem", "dynamodb:GetItem"),
            lists_jobs=True,
            lists_tenants=True,
        ),
        JobHandler(
            lambda_=Handler(name="get_queue", routes=("GET /v1/queues/{queue}",)),
            table=("dynamodb:GetItem",),
            lists_jobs=True,
        ),
        JobHandler(
            # Sessions are read from the table itself.
            lambda_=Handler(name="list_sessions", routes=("GET /v1/queues/{queue}/sessions",)),
            table=("dynamodb:GetItem", "dynamodb:Query"),
        ),
    ),
    "write_queues": (
        JobHandler(
            # The receipt of an idempotency key is stored in the batches table.
            lambda_=Handler(
                name="add_jobs",
                routes=("POST /v1/queues/{queue}/jobs",),
                batches=("dynamodb:GetItem", "dynamodb:PutItem"),
            ),
            table=ADD,
            # The first add to a queue creates it.
            doorbells=(*CREATE, *RING),
        ),
        JobHandler(
            lambda_=Handler(name="put_queue", routes=("PUT /v1/queues/{queue}",)),
            table=("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"),
            doorbells=tuple(sorted({*CREATE, *UPDATE})),
        ),
        JobHandler(
            lambda_=Handler(name="pause_queue", routes=("POST /v1/queues/{queue}/pause",)),
            table=("dynamodb:GetItem", "dynamodb:UpdateItem"),
        ),
        JobHandler(
            # It rings, and gives a doorbell to a queue that has none.
            lambda_=Handler(name="resume_queue", routes=("POST /v1/queues/{queue}/resume",)),
            table=("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"),
            lists_jobs=True,
            doorbells=(*CREATE, *RING),
        ),
    ),
    "administer_queues": (
        JobHandler(
            lambda_=Handler(name="revive_jobs", routes=("POST /v1/queues/{queue}/dead/revive",)),
            # Dead jobs are read by their keys. A revival deletes the record and puts the job; in a raise, it
            # checks a second row.
            table=(
                "dynamodb:BatchGetItem",
                "dynamodb:ConditionCheckItem",
                "dynamodb:DeleteItem",
                "dynamodb:GetItem",
                "dynamodb:PutItem",
                "dynamodb:UpdateItem",
            ),
            lists_jobs=True,
            doorbells=(*CREATE, *RING),
        ),
        JobHandler(
            lambda_=Handler(name="delete_jobs", routes=("POST /v1/queues/{queue}/jobs/delete",)),
            # A job becomes a mark, its outbox entry is put, and the record of a dead job is deleted.
            table=(
                "dynamodb:BatchGetItem",
                "dynamodb:DeleteItem",
                "dynamodb:GetItem",
                "dynamodb:PutItem",
                "dynamodb:UpdateItem",
            ),
        ),
        # It writes the config alone; the sweep deletes the rows.
        JobHandler(
            lambda_=Handler(name="remove_queue", routes=("DELETE /v1/queues/{queue}",)),
            table=("dynamodb:GetItem", "dynamodb:UpdateItem"),
            lists_jobs=True,
        ),
    ),
}
JOB_ROUTES = all_of(JOB_API)
SWEEP_JOBS = JobHandler(
    # It acks the items of jobs whose worker crashed before it did.
    lambda_=Handler(
        name="sweep_jobs",
        batches=CHANGE_BATCHES,
        pages=CHANGE_PAGES,
        results=(KEEP,),
        timeout_seconds=300,
        memory_mb=1024,  # bound by the CPU: docs/operations_reference.md#the-load-of-the-sweeps
    ),
    # Sessions, outbox entries and the rows of a removed queue are read from the table itself, by Query; the
    # outbox entries of removed jobs are put.
    table=(
        "dynamodb:BatchGetItem",
        "dynamodb:DeleteItem",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "dynamodb:UpdateItem",
    ),
    lists_jobs=True,
    lists_queues=True,
    # It gives a doorbell to a queue that has none, or whose doorbell was deleted. It keeps doorbells up to
    # date, and deletes that of a removed queue.
    doorbells=tuple(sorted({*CREATE, *UPDATE, "sqs:DeleteQueue", *RING})),
)
# A delivery is 100 records.
PUBLISH_DEAD_JOBS = Handler(name="publish_dead_jobs", timeout_seconds=60)
# Of a function that a doorbell feeds; it lists jobs too.
WORK = ("dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem")
