"""The creation of a queue with its doorbell: names, races, and doorbells that are missing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from fanin.names import doorbell_prefix, doorbells_of, stack_doorbell
from fanin.queue import Effects, Options, Queue, QueueContext, QueueKey
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.errors import DoorbellMissing
from fanin.queue.sqs import SqsDoorbell, SqsDoorbells
from tests.contract import moto_clients
from tests.queue.conftest import names

ACCOUNT = "123456789012"  # moto's
PREFIX = doorbell_prefix("dev")
ARNS = f"arn:aws:sqs:us-east-1:{ACCOUNT}:{PREFIX}"
KEY = QueueKey(ACCOUNT, "thumbs")


@pytest.fixture
def sqs():
    with mock_aws():
        yield moto_clients.client("sqs", config=Config(read_timeout=5))


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def creator(sqs, store):
    return QueueCreator(store, SqsDoorbells(sqs, ARNS), Effects(pause=lambda _: None))


@pytest.fixture
def make(sqs, store, creator, time):
    """Makes the queue of one process, with its doorbell on SQS."""

    def create(key: QueueKey = KEY, **more) -> Queue:
        effects = Effects(
            time.now, time.monotonic, pause=time.sleep, each=lambda call, values: [call(v) for v in values]
        )
        context = QueueContext(
            store,
            SqsDoorbell(sqs, None, key),
            key,
            Options(parts=1, renew=True, **more),
            effects,
            creator=creator,
        )
        return Queue(context, background=lambda _: lambda: None)

    return create


def refuse(code: str):
    def request(**_):
        raise ClientError({"Error": {"Code": code}}, "request")

    return request


def queues_of(sqs) -> set[str]:
    return {url.rpartition("/")[2] for url in sqs.list_queues().get("QueueUrls", [])}


def test_jobs_that_wait_in_another_queue_are_never_received_here(sqs, make):
    """With one doorbell for all queues, a worker received, and left, each ring of the others."""
    received = []
    sqs.meta.events.register(
        "after-call.sqs.ReceiveMessage", lambda parsed, **_: received.append(len(parsed.get("Messages", [])))
    )
    make(QueueKey(ACCOUNT, "others")).add_all(str(number) for number in range(200))
    mine = make()
    with mine.take(1, wait=0):
        assert mine.context.wait(0, 10) == []
    mine.add("a")

    assert len(mine.context.wait(0, 10)) == 1
    assert received == [0, 1]


def test_a_new_queue_has_a_doorbell_of_its_own_with_the_attributes_of_the_stacks(sqs, creator):
    config = creator.create(KEY, QueueConfig(3))
    attributes = sqs.get_queue_attributes(QueueUrl=config.doorbell, AttributeNames=["All"])["Attributes"]
    (statement,) = json.loads(attributes["Policy"])["Statement"]

    assert (config.parts, config.doorbell.rpartition("/")[2]) == (3, "fanin-dev_bell_queue-thumbs")
    assert (attributes["VisibilityTimeout"], attributes["MessageRetentionPeriod"]) == ("180", "3600")
    assert attributes["SqsManagedSseEnabled"] == "true"
    assert "RedrivePolicy" not in attributes
    assert statement == {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "sqs:*",
        "Resource": attributes["QueueArn"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    assert creator.doorbells.arn(config.doorbell) == attributes["QueueArn"]


def test_a_queue_is_admitted_before_it_is_created_and_not_again(creator):
    admitted = []
    creator = replace(creator, admit=admitted.append)
    for _ in range(2):
        creator.create(KEY, QueueConfig(3))

    assert admitted == [KEY]


def test_the_doorbell_that_the_stack_made_is_used(sqs, creator):
    sqs.create_queue(QueueName=stack_doorbell(PREFIX, "thumbs"))
    config = creator.create(KEY, QueueConfig(3))

    assert queues_of(sqs) == {"fanin-dev_bell_stack-thumbs"}
    assert config.doorbell.rpartition("/")[2] == "fanin-dev_bell_stack-thumbs"


def test_a_queue_moves_to_the_doorbell_that_the_stack_makes_later(sqs, creator, store):
    before = creator.create(KEY, QueueConfig(3))
    sqs.create_queue(QueueName=stack_doorbell(PREFIX, "thumbs"))
    after = creator.ensure(KEY, None).config

    assert before.doorbell != after.doorbell
    assert store.config(KEY) == replace(before, doorbell=after.doorbell, revision=1)


NAMES = ("a", "a.b", "a_b", "a-b", "x" * 80, "x" * 79 + "y", "thumbs", "stack-thumbs", "queue-thumbs")


def test_no_two_queues_share_a_name_of_a_doorbell():
    long = doorbell_prefix("a" * 20)
    found = [
        name
        for prefix in (PREFIX, long)
        for tenant in (ACCOUNT, "111122223333", "acme", "a#b", "queue")
        for queue in NAMES
        for name in doorbells_of(prefix, ACCOUNT, tenant, queue)
    ]

    assert len(set(found)) == len(found)
    assert all(len(name) <= 80 for name in found)
    assert all(name.replace("-", "").replace("_", "").isalnum() and name.isascii() for name in found)


def test_no_prefix_of_a_stage_is_that_of_another():
    prefixes = [doorbell_prefix(stage) for stage in ("a", "a-bell", "a-bell-b", "ab")]

    assert not [(a, b) for a in prefixes for b in prefixes if a != b and b.startswith(a)]


def test_two_creators_of_one_queue_end_with_one_row_and_one_doorbell(sqs, creator, store):
    first, second = creator.create(KEY, QueueConfig(3)), creator.create(KEY, QueueConfig(5))

    assert first == second == store.config(KEY)
    assert (first.parts, first.revision, len(queues_of(sqs))) == (3, 0, 1)


def test_a_queue_without_a_doorbell_gets_one_on_its_first_use(store, make):
    store.create(KEY, QueueConfig(1))
    queue = make()
    queue.add("a")

    assert store.config(KEY).revision == 1
    assert len(queue.context.wait(0, 10)) == 1


def test_a_doorbell_that_was_deleted_is_made_again_by_a_waiting_worker(sqs, make, store):
    queue = make()
    queue.context.config()
    sqs.delete_queue(QueueUrl=store.config(KEY).doorbell)

    assert queue.context.wait(0, 10) == []
    assert len(queues_of(sqs)) == 1


def test_a_name_that_sqs_refuses_for_a_minute_keeps_no_job_from_being_added_and_taken(
    sqs, make, store, creator, time, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(sqs, "create_queue", refuse("AWS.SimpleQueueService.QueueDeletedRecently"))
        queue = make()
        queue.add("a")
        assert store.config(KEY).doorbell is None
        with queue.take(1, wait=20) as jobs:
            assert names(jobs) == ["a"]
        with queue.take(1, wait=20) as jobs:
            assert not jobs
        with pytest.raises(DoorbellMissing, match="retry"):
            creator.ensure(KEY, None)
    time.sleep(61)
    queue.add("b")

    assert store.config(KEY).doorbell is not None
    assert len(queue.context.wait(0, 10)) == 1


def test_a_missing_doorbell_is_not_requested_with_each_add(sqs, make, monkeypatch):
    asked = []
    refused = refuse("QueueDeletedRecently")
    monkeypatch.setattr(sqs, "create_queue", lambda **request: asked.append(request) or refused())
    queue = make()
    for number in range(50):
        queue.add(str(number))

    assert 1 <= len(asked) <= 3


STACK_KEY = f"arn:aws:kms:us-east-1:{ACCOUNT}:key/0f6b4b6a-0000-4000-8000-000000000000"
TAGS = {"service": "fanin", "cost-centre": "4711"}


def encryption_and_tags(sqs, url: str) -> tuple[str | None, str | None, dict[str, str]]:
    """The KMS key of a queue, whether SQS has its key, and its tags."""
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    tags = sqs.list_queue_tags(QueueUrl=url).get("Tags", {})
    return found.get("KmsMasterKeyId") or None, found.get("SqsManagedSseEnabled"), tags


def test_a_new_doorbell_has_the_key_and_the_tags_of_the_stack(sqs, store):
    url = QueueCreator(store, SqsDoorbells(sqs, ARNS, STACK_KEY, TAGS)).create(KEY, QueueConfig(1)).doorbell

    assert encryption_and_tags(sqs, url) == (STACK_KEY, "false", TAGS)


def test_an_existing_doorbell_is_brought_up_to_date_with_the_key_and_the_tags(sqs, creator):
    url = creator.create(KEY, QueueConfig(1)).doorbell
    before = encryption_and_tags(sqs, url)
    SqsDoorbells(sqs, ARNS, STACK_KEY, TAGS).update(KEY, url)
    after = encryption_and_tags(sqs, url)
    creator.doorbells.update(KEY, url)

    assert before == (None, "true", {})
    assert after == (STACK_KEY, "false", TAGS)
    # Tags that the stack no longer has are left: they may be of another origin.
    assert encryption_and_tags(sqs, url) == (None, "true", TAGS)


def test_a_doorbell_of_the_stack_is_left_to_it_and_one_that_is_gone_to_the_next_ring(sqs, creator):
    url = sqs.create_queue(QueueName=stack_doorbell(PREFIX, "thumbs"))["QueueUrl"]
    doorbells = SqsDoorbells(sqs, ARNS, STACK_KEY, TAGS)
    doorbells.update(KEY, url)
    doorbells.update(KEY, url.replace("stack-thumbs", "queue-thumbs"))

    assert encryption_and_tags(sqs, url)[::2] == (None, {})
    assert queues_of(sqs) == {"fanin-dev_bell_stack-thumbs"}


def test_a_doorbell_is_deleted_unless_the_stack_made_it(sqs, creator):
    own = creator.create(KEY, QueueConfig(1)).doorbell
    creator.doorbells.delete(KEY, own)
    creator.doorbells.delete(KEY, own)
    url = sqs.create_queue(QueueName=stack_doorbell(PREFIX, "thumbs"))["QueueUrl"]
    creator.doorbells.delete(KEY, url)

    assert queues_of(sqs) == {"fanin-dev_bell_stack-thumbs"}
