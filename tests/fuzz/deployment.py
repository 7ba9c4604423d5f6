"""All handlers with their own wiring, in this process, on the emulator's tables, and on moto."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import getmembers

import pytest
from moto import mock_aws

from fanin.aws import clients
from functions import archive_changes
from tests.contract import emulated, grouper_tables, moto_clients, queue_table, tables
from tests.fuzz import granting
from tests.request_rules import hook

REGION, ACCOUNT = "us-east-1", "111122223333"
QUEUES = ("tasks", "bundles", "acks", "dead", "registrations")
WIRED = (
    *("consuming", "deployed", "grouping", "metered", "queueing", "quotas", "tracking", "calling"),
    "webhooks",
)
SETTINGS = {"grouper_policies": [{"pattern": "*", "lingerSeconds": 0, "maxDelaySeconds": 0}]}
BUCKET, BUS = "archive", "bus"


@contextmanager
def deployment() -> Iterator[None]:
    """Deploy the handlers: tables, queues, a bus, a bucket, and their environment."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        patch.setenv("AWS_ACCESS_KEY_ID", "none")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "none")
        patch.delenv("AWS_ENDPOINT_URL", raising=False)
        _forget()
        for name, value in _created().items():
            patch.setenv(name, value)
        granting.record()
        yield
    _forget()


def _created() -> dict[str, str]:
    """Create what the handlers use; return the environment that names it."""
    database, sqs = moto_clients.client("dynamodb"), moto_clients.client("sqs")
    tables.create_tables(database)
    grouper_tables.create_tables(database)
    queue_table.create_queue_table(database)
    moto_clients.client("events").create_event_bus(Name=BUS)
    moto_clients.client("s3").create_bucket(Bucket=BUCKET)
    urls = {name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in QUEUES}
    grouped = grouper_tables.TABLES
    return {
        "FANIN_BATCHES_TABLE": tables.TABLES[0],
        "FANIN_PAGES_TABLE": tables.TABLES[1],
        "FANIN_TENANT": ACCOUNT,
        "FANIN_PAGE_BITS": "8",
        "FANIN_SETTINGS": json.dumps(SETTINGS),
        "FANIN_GROUP_TASKS_TABLE": grouped.tasks,
        "FANIN_GROUP_LEASES_TABLE": grouped.leases,
        "FANIN_GROUP_BUNDLES_TABLE": grouped.bundles,
        "FANIN_GROUPER_QUEUE_URL": urls["tasks"],
        "FANIN_BUNDLES_QUEUE_URL": urls["bundles"],
        "FANIN_OWN_DEAD_LETTER_QUEUE": urls["dead"],
        "FANIN_BUS_NAME": BUS,
        "FANIN_QUEUE_TABLE": queue_table.QUEUE_TABLE,
        "FANIN_DOORBELL_PREFIX": f"arn:aws:sqs:{REGION}:{ACCOUNT}:fanin-dev_bell_",
        "FANIN_ARCHIVE_BUCKET": BUCKET,
        "FANIN_ARCHIVE_TABLES": json.dumps({"batches": tables.TABLES[0], "pages": tables.TABLES[1]}),
    }


def _forget() -> None:
    """Forget what the wiring made, as a new process does."""
    wired = [import_module(f"functions.wiring.{name}") for name in WIRED]
    caches = [each for module in (*wired, archive_changes, clients) for _, each in getmembers(module)]
    for each in caches:
        if hasattr(each, "cache_clear") and not isinstance(each, type):
            each.cache_clear()


def refusals() -> list[str]:
    """Return the requests since the last call that AWS refuses by its documented rules, and forget them."""
    refused, hook.REFUSALS[:] = [str(each) for each in hook.REFUSALS], []
    return refused


def rows() -> list[str]:
    """Return all rows of all tables as text, without a scan of each table."""
    return [json.dumps(row, sort_keys=True) for _, row in emulated.rows()]
