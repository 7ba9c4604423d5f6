"""The names of the account, tables and queues of the crash sweep, as a deployed function gets them."""

from __future__ import annotations

import json

ACCOUNT = "123456789012"
REGION = "us-east-1"
TENANT = ACCOUNT
OUTCOMES, INDEX = "Outcomes", "Index"
DOORBELLS = "doorbell"
API_URL = "https://batch.example/calls"
WEBHOOK_URL = "https://hook.example/events"
SECRET = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:hook-abcdef"
KEPT, DEAD_LETTER_QUEUE = "kept", "dead"
MACHINE = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:waits"
BUS = "bus"
BUCKET = "archive"
RESULTS = "results"
LAKE = "lake"
WORK = "work"
PUBLICATIONS = "publications"
TABLES = {
    "batches": "Batches",
    "pages": "Pages",
    "jobs": "Queue",
    "tasks": "GroupTasks",
    "bundles": "GroupBundles",
}


CONSUMER = "consume_jobs"
"""A user's function that a doorbell feeds: that of examples/catalog."""
BULK_ACK = "bulk_ack"
"""A job, which its user runs again."""
MODULES = {CONSUMER: "examples.catalog.functions.jobs", BULK_ACK: "pipeline.jobs.bulk_ack"}
"""Those of what the stack does not deploy."""


def module_of(handler: str) -> str:
    """Return the name of a handler's module."""
    return MODULES.get(handler, f"functions.{handler}")


def queue_url(name: str) -> str:
    """Return the URL of an SQS queue."""
    return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}"


def queue_arn(name: str) -> str:
    """Return the ARN of an SQS queue."""
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"


ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": REGION,
    "FANIN_BATCHES_TABLE": "Batches",
    "FANIN_PAGES_TABLE": "Pages",
    "FANIN_TENANT": TENANT,
    "FANIN_PAGE_BITS": "4",
    "FANIN_ALLOW_ANONYMOUS": "true",
    "FANIN_RESUMES": "taskToken,durableCallbackId",
    "FANIN_OWN_DEAD_LETTER_QUEUE": queue_url(DEAD_LETTER_QUEUE),
    "FANIN_KEPT_MESSAGES_QUEUE": queue_url(KEPT),
    "FANIN_QUEUE_TABLE": "Queue",
    "FANIN_DOORBELL_PREFIX": queue_arn(DOORBELLS),
    "FANIN_GROUP_TASKS_TABLE": "GroupTasks",
    "FANIN_GROUP_LEASES_TABLE": "GroupLeases",
    "FANIN_GROUP_BUNDLES_TABLE": "GroupBundles",
    "FANIN_GROUPER_QUEUE_URL": queue_url("tasks"),
    "FANIN_BUNDLES_QUEUE_URL": queue_url("bundles"),
    "FANIN_BUS_NAME": BUS,
    "FANIN_COMPLETIONS_BUS": BUS,
    "FANIN_EVENTS": "TaskSucceeded,BundleFailed",
    "FANIN_ARCHIVE_BUCKET": BUCKET,
    "FANIN_RESULTS_BUCKET": RESULTS,
    "FANIN_PUBLICATIONS_QUEUE_URL": queue_url(PUBLICATIONS),
    "FANIN_ARCHIVE_TABLES": json.dumps(TABLES),
    "OUTCOMES_TABLE": OUTCOMES,
    "INDEX_TABLE": INDEX,
    "FANIN_SETTINGS": json.dumps(
        {
            "grouper_policies": [{"pattern": "*", "maxSize": 4, "lingerSeconds": 0}],
            "grouper_downstream": [{"pattern": "*", "url": API_URL}],
            "callbacks": [{"name": "hook", "url": WEBHOOK_URL, "secret": SECRET}],
            "publications": [
                {"source": f"s3://{LAKE}/in/", "queue": queue_arn(WORK), "onCreated": True, "rate": 1}
            ],
            "resumed_state_machines": [MACHINE],
        }
    ),
}
