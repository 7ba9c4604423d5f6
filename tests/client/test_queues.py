"""Queues that the client creates: through the API, or with the credentials of the process."""

from __future__ import annotations

import pytest
from moto import mock_aws

from fanin import Conflict, Fanin, InvalidRequest, JobSettings, Options
from fanin.aws import clients
from fanin.client.transports.direct import DirectTransport
from fanin.queue import QueueKey
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.rules.config import QueueConfig
from fanin.queue.sqs import SqsDoorbells
from functions.wiring import queueing
from tests.client.conftest import TENANT
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.queue.test_creating import refuse

ACCOUNT = "123456789012"  # moto's
PREFIX = f"arn:aws:sqs:us-east-1:{ACCOUNT}:fanin-dev_bell_"
AT = JobSettings(table=QUEUE_TABLE, tenant=TENANT)
KEY = QueueKey(TENANT, "thumbs")


@pytest.fixture
def table(monkeypatch):
    """The table of queues on moto, which the clients of this process use."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        caches = (clients.dynamodb, clients.sqs, clients.long_polls)
        for cache in caches:
            cache.cache_clear()
        create_queue_table(moto_clients.client("dynamodb"))
        yield DynamoStore(clients.dynamodb(), QUEUE_TABLE)
        for cache in caches:
            cache.cache_clear()


@pytest.fixture
def api(table, monkeypatch):
    """The route on the same table."""
    creator = QueueCreator(table, SqsDoorbells(moto_clients.client("sqs"), PREFIX))
    monkeypatch.setattr(queueing, "creator", lambda: creator)


@pytest.fixture
def direct(tracker):
    return Fanin(DirectTransport(tracker, TENANT))


def test_a_queue_is_created_over_http_with_its_parts(over_http, api, table, service):
    first, again = over_http.create_queue("thumbs", parts=3), over_http.create_queue("thumbs")

    assert first == again
    assert (first.name, first.parts) == ("thumbs", 3)
    assert first.doorbell_arn.rpartition(":")[2] == first.doorbell_url.rpartition("/")[2]
    assert table.config(KEY) == QueueConfig(3, doorbell=first.doorbell_url)
    assert [seen.method for seen in service.seen] == ["PUT", "PUT"]
    with pytest.raises(Conflict, match="3 parts"):
        over_http.create_queue("thumbs", parts=2)


def test_a_worker_over_http_asks_the_api_for_the_queue(over_http, api, table, service):
    queue = over_http.queue("thumbs", AT, Options(parts=2))
    queue.add("a")
    with queue.take(1, wait=0) as jobs:
        assert [job.name for job in jobs] == ["a"]
    queue.close()

    assert table.config(KEY).parts == 2
    assert len(service.seen) == 1


def test_a_direct_client_creates_a_queue_with_its_own_credentials(direct, table):
    at = JobSettings(table=QUEUE_TABLE, tenant=TENANT, doorbell_prefix=PREFIX)
    found = direct.create_queue("thumbs", parts=4, at=at)

    assert table.config(KEY) == QueueConfig(4, doorbell=found.doorbell_url)
    assert direct.queue("thumbs", at).add("a")


@pytest.mark.parametrize(
    ("tags", "actions"), [({}, "sqs:GetQueueUrl"), ({"service": "fanin"}, "sqs:GetQueueUrl and sqs:TagQueue")]
)
def test_without_the_grants_a_direct_client_names_them(direct, table, monkeypatch, tags, actions):
    at = JobSettings(table=QUEUE_TABLE, tenant=TENANT, doorbell_prefix=PREFIX, doorbell_tags=tags)
    denied = refuse("AccessDenied")
    monkeypatch.setattr("fanin.aws.clients.ProcessClient.__getattr__", _denying(denied))
    with pytest.raises(InvalidRequest, match=rf"sqs:CreateQueue and {actions} on .*_bell_\*"):
        direct.queue("thumbs", at).add("a")


def _denying(denied):
    whole = clients.ProcessClient.__getattr__

    def attribute(self, name):
        return denied if name in ("create_queue", "get_queue_url") else whole(self, name)

    return attribute
