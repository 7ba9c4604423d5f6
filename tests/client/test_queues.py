"""Queues that the client creates, and what the ends of their jobs report to the tracker."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from moto import mock_aws

from fanin import Conflict, Fanin, InvalidRequest, JobSettings, Options, Outcome
from fanin.aws import clients
from fanin.client.queues.job_acks import DIED, acking
from fanin.client.transports.direct import DirectTransport
from fanin.errors import KeyReused, NotFound
from fanin.queue import MemoryDoorbell, NewJob, OutboxEntry, Queue, QueueContext, QueueKey
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.memory import MemoryStore as QueueStoreInMemory
from fanin.queue.rules.config import QueueConfig
from fanin.queue.sqs import SqsDoorbells
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
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
    queue = over_http.queue("thumbs")
    first, again = queue.ensure(parts=3), queue.ensure()

    assert first == again
    assert (first.name, first.parts) == ("thumbs", 3)
    assert first.doorbell_arn.rpartition(":")[2] == first.doorbell_url.rpartition("/")[2]
    assert table.config(KEY) == QueueConfig(3, doorbell=first.doorbell_url)
    assert [seen.method for seen in service.seen] == ["PUT", "PUT"]
    with pytest.raises(Conflict, match="3 parts"):
        queue.ensure(parts=2)


def test_a_worker_over_http_asks_the_api_for_the_queue(over_http, api, table, service):
    queue = over_http.queue("thumbs", AT, Options(parts=2))
    queue.add("a")
    with queue.take(1, wait=0) as jobs:
        assert [job.key for job in jobs] == ["a"]
    queue.close()

    assert table.config(KEY).parts == 2
    assert len(service.seen) == 1


def test_a_direct_client_creates_a_queue_with_its_own_credentials(direct, table):
    at = JobSettings(table=QUEUE_TABLE, tenant=TENANT, doorbell_prefix=PREFIX)
    found = direct.queue("thumbs", at).ensure(parts=4)

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


@pytest.fixture
def transport():
    return DirectTransport(Tracker(MemoryStore()), "t")


def failed_item_of(error, transport):
    """The sample of an item whose job died of *error*: from the worker through the outbox to the tracker."""
    fanin = Fanin(transport)
    with fanin.open() as batch:
        (item,) = batch.add(1)
    key = QueueKey("t", "q")
    options, report = Options(parts=1, max_failures=1), acking(transport)
    context = QueueContext(QueueStoreInMemory(), MemoryDoorbell(), key, options, report=report)
    queue = Queue(context, background=lambda _: lambda: None)
    queue.add(NewJob("a", item_id=str(item)))
    with queue.take(1, wait=0) as jobs:
        jobs.release(jobs[0], failed=True, error=error)
    queue.sweep()
    assert queue.context.store.outbox(queue.context.part(0)) == []
    (sample,) = batch.samples()
    return sample


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("ValueError('no such image')", "ValueError('no such image')"),
        ("first\nsecond\x00\x1b[31m", "first second [31m"),
        ("\n\t ", DIED),
    ],
)
def test_the_item_of_a_dead_job_fails_with_the_jobs_last_error(transport, error, reason):
    assert failed_item_of(error, transport).reason == reason


def test_another_death_of_a_job_is_another_ack_with_its_own_reason():
    listening = Listening()
    item = "00000000-0000-4000-8000-000000000000:00000000-0000-4000-8000-000000000001:0"
    for ending, reason in (("c1", "first"), ("c1", "first"), ("c2", "second"), ("c2", "third")):
        acking(listening)(OutboxEntry("1", item, True, reason, ending, 0))

    first, repeated, second, third = [caller for caller, _ in listening.reported]
    assert first == repeated
    assert len({first, second, third}) == 3


@dataclass
class Listening:
    """A way to the tracker that only listens."""

    reported: list[tuple[str, Outcome]] = field(default_factory=list)

    def ack(self, acks):
        self.reported.append((acks[0].caller, acks[0].outcome))


@pytest.mark.parametrize("refusal", [InvalidRequest("403"), NotFound("404"), KeyReused("422")], ids=str)
def test_an_end_that_the_api_refuses_stays_in_the_outbox(refusal):
    item = "00000000-0000-4000-8000-000000000000:00000000-0000-4000-8000-000000000001:0"

    @dataclass
    class Refusing:
        def ack(self, _acks):
            raise refusal

    store, key = QueueStoreInMemory(), QueueKey("t", "q")
    context = QueueContext(store, MemoryDoorbell(), key, Options(parts=1), report=acking(Refusing()))
    queue = Queue(context, background=lambda _: lambda: None)
    queue.add_all([NewJob("a", item_id=item), "b"])
    with queue.take(2, wait=0):
        pass
    queue.sweep()

    assert [entry.item_id for entry in store.outbox(queue.context.part(0))] == [item]
    assert (queue.depth().ready, queue.depth().busy) == (0, 0)
