"""The work queues' part of the template, and what its handlers send held against what they are granted."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from moto import mock_aws

from fanin import names
from fanin.errors import Conflict, InvalidRequest
from fanin.pacing import each_in_turn
from fanin.queue import Effects, MemoryDoorbell, NewJob, Options, Queue, QueueContext, QueueKey
from fanin.queue.administration import changing, paging, removing
from fanin.queue.administration.changing import pause, resume, revive_all, revive_some
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.administration.describing import CountedDepth, describe, status_of
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.dynamodb.registry import Registry
from fanin.queue.maintenance.visiting import visit
from fanin.queue.rules.config import Phase
from fanin.queue.rules.model import JobState
from fanin.queue.sqs import SqsDoorbell, SqsDoorbells
from fanin_cdk.grants.job_handlers import JOB_ROUTES, OF_OWN, SWEEP_JOBS
from fanin_cdk.longest_values import Written
from fanin_cdk.settings.config import ConfigError
from infra.config import StackConfig
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.infra.sending import Sent
from tests.infra.test_functions import listed, target_of
from tests.item_ids import item_named

HANDLERS = {each.lambda_.name: each for each in (*JOB_ROUTES, SWEEP_JOBS)}
KEY = QueueKey("111122223333", "q")
KMS_KEY = "arn:aws:kms:us-east-1:123456789012:key/0f6b4b6a-0000-4000-8000-000000000000"
PREFIX = "arn:aws:sqs:us-east-1:111122223333:fanin-dev_bell_"
# Sent where a refused write does not bring along what stands in its way.
FALLBACK = {
    "add_jobs": {("dynamodb:GetItem", QUEUE_TABLE)},
}


def test_the_table_of_the_tests_has_the_keys_of_the_template(default):
    deployed = default.named("AWS::DynamoDB::Table", "JobsTable")["Properties"]
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        table = client.describe_table(TableName=QUEUE_TABLE)["Table"]

    assert table["KeySchema"] == deployed["KeySchema"]
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        for of_tests, template in zip(table[kind], deployed[kind], strict=True):
            assert {name: of_tests[name] for name in template} == template


def test_the_doorbells_of_named_queues_are_made_as_the_functions_make_and_find_them(configured):
    properties = [each["Properties"] for each in configured.of_type("AWS::SQS::Queue").values()]
    by_name = {each["QueueName"]: each for each in properties if "QueueName" in each}
    adding = configured.named("AWS::Lambda::Function", "FunctionsApiWriteQueues")["Properties"]
    prefix = target_of(adding["Environment"]["Variables"]["FANIN_DOORBELL_PREFIX"]).rpartition(":")[2]
    with mock_aws():
        sqs = moto_clients.client("sqs")
        for name in by_name:
            sqs.create_queue(QueueName=name)
        doorbells = SqsDoorbells(sqs, f"arn:aws:sqs:us-east-1:111122223333:{prefix}")
        found = [doorbells.create(QueueKey("111122223333", name)) for name in ("thumbs", "mail.v2")]
        own = doorbells._attributes("other")

    assert {url.rpartition("/")[2] for url in found} == by_name.keys()
    for name in ("VisibilityTimeout", "MessageRetentionPeriod", "ReceiveMessageWaitTimeSeconds"):
        assert {str(each[name]) for each in by_name.values()} == {own[name]}
    assert not any("RedrivePolicy" in each for each in (*by_name.values(), own))


@pytest.mark.parametrize("name", ["a#b", "-a", "a" * 81, "a b"])
def test_a_strange_name_is_no_queue(name):
    with pytest.raises(ConfigError, match="job_queues"):
        StackConfig(job_queues=("fine", name))
    with pytest.raises(InvalidRequest):
        QueueKey("t", name)


def fresh(client, *, creates=False, **more):
    """A queue on moto; *creates*: with a doorbell on SQS, which it creates itself."""
    store = DynamoStore(client, QUEUE_TABLE, pause=lambda _: None)
    # moto copies its tables in a transaction, which other threads must not change.
    in_turn = replace(more.get("effects", Effects()), each=each_in_turn)
    more = {"options": Options(parts=2)} | more | {"effects": in_turn}
    if creates:
        sqs = moto_clients.client("sqs")
        more["creator"] = QueueCreator(store, SqsDoorbells(sqs, PREFIX, tags={"service": "fanin"}))
        sqs.meta.events.register("provide-client-params.sqs", ASKED_OF_SQS)
    doorbell = SqsDoorbell(sqs, None, KEY) if creates else MemoryDoorbell()
    return Queue(QueueContext(store, doorbell, KEY, **more), background=lambda _: lambda: None)


class AskedOfSqs:
    """The SQS actions, as IAM has them, that were sent."""

    def __init__(self):
        self.actions = set()

    def __call__(self, model, params, **_):
        self.actions.add("sqs:" + model.name.removesuffix("Batch"))
        self.actions |= {"sqs:TagQueue"} if params.get("tags") else set()


ASKED_OF_SQS = AskedOfSqs()


def create_outcomes_table(client):
    client.create_table(
        TableName="Outcomes",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


def queue_without_a_doorbell(client):
    """A queue without a doorbell."""
    fresh(client).context.config()


def nothing(_client):
    """No past."""


def worked_at(client):
    """A queue whose worker crashed long ago, with a job in each state and one outbox entry."""
    queue = fresh(client, options=Options(parts=2, max_failures=1))
    queue.add("dies")
    with suppress(ZeroDivisionError), queue.take(wait=0):
        raise ZeroDivisionError
    queue.context = replace(queue.context, options=Options(parts=2))
    queue.add_all(
        [NewJob(f"job-{n}", item_id=item_named("x")) for n in range(4)] + [NewJob("later", delay=60)]
    )
    scope = queue.take(2, wait=0)
    held = scope.__enter__()
    scope.ack(held[0])
    scope.release(held[1], failed=True, delay=1)
    queue.take(1, wait=0).__enter__()


def put_twice(client):
    for parts in (None, 2):
        creator = fresh(client, creates=True).context.creator
        keyed = replace(creator.doorbells, key=KMS_KEY)
        keyed.update(KEY, creator.ensure(KEY, parts).config.doorbell)


def drain_old_parts(client):
    """Have the parts be raised, as far as that jobs are moved."""
    store = DynamoStore(client, QUEUE_TABLE)
    old = store.config(KEY)
    raised = {"parts": 4, "before": old.parts, "phase": Phase.DRAINING, "since_us": 1}
    store.reconfigure(KEY, replace(old, **raised, revision=old.revision + 1))


def add_and_collide(client):
    queue = fresh(client, creates=True)
    queue.add_all(["a", "b"])
    queue.add_all(["a", "c"])
    drain_old_parts(client)
    fresh(client, creates=True).add_all([*"cdefg"])


def look_up(client):
    queue = Queue(QueueContext(DynamoStore(client, QUEUE_TABLE), MemoryDoorbell(), KEY))
    for state in JobState:
        if state is not JobState.DONE:
            paging.jobs(queue.context, state, 10, None)
    paging.dead(queue.context, 10, None)


def list_queues(client):
    registry = Registry(client, QUEUE_TABLE)
    registry.seen([KEY])
    for key in registry.of_tenant(KEY.tenant, None, 10):
        assert describe(QueueContext(DynamoStore(client, QUEUE_TABLE), MemoryDoorbell(), key)) is not None


def get_queue(client):
    status_of(fresh(client).context)


def list_sessions(client):
    context = fresh(client).context
    assert context.read_config() is not None
    assert list(context.store.members_after(KEY, None, 10))


def pause_queue(client):
    pause(fresh(client).context)


def paused_queue_without_a_doorbell(client):
    """A paused queue without a doorbell, with a job."""
    fresh(client).add("a")
    pause(fresh(client).context)


def resume_queue(client):
    resume(fresh(client, creates=True).context)


def worked_at_and_raised(client):
    """The same, and its parts are being raised."""
    worked_at(client)
    drain_old_parts(client)


def revive_jobs(client):
    """All of them, in a queue that has no doorbell."""
    queue = fresh(client, creates=True)
    revive_some(queue, [])
    revive_all(queue)


def delete_jobs(client):
    """Jobs with and without items, two in progress, one that does not exist, and a dead one."""
    context = fresh(client).context
    unobserved = fresh(moto_clients.client("dynamodb")).context
    rows = [(row.number, row.key.sort) for row, _ in paging.dead(unobserved, 10, None).jobs]
    outcomes = changing.delete_jobs(context, [f"job-{n}" for n in range(4)] + ["later", "plain", "none"])
    assert set(outcomes.values()) == set(changing.Deletion)
    assert set(changing.delete_dead(context, rows).values()) == {changing.Deletion.DELETED}


def worked_at_and_abandoned(client):
    """The same, and a job whose worker was ended by another one, which crashed before it freed the claim."""
    worked_at(client)
    queue = fresh(client)
    queue.take(1, wait=0).__enter__()
    store, session = queue.context.store, queue.taker.worker.session.id
    store.end_session(KEY, session, None)
    store.forget(KEY, session)


def empty_queue(client):
    return QueueContext(DynamoStore(client, QUEUE_TABLE), MemoryDoorbell(), QueueKey("t", "empty"))


def worked_at_beside_an_empty_queue(client):
    worked_at(client)
    empty_queue(client).config()


def remove_queue(client):
    """A queue with jobs is not removed, an empty one is, and one by force."""
    queue = fresh(client)
    with suppress(Conflict):
        removing.begin(queue.context, force=False)
    removing.begin(queue.context, force=True)
    removing.begin(empty_queue(client), force=False)


def sweep_late(client):
    """A sweep an hour later, one that raises parts, one that begins to remove the queue, and later ones."""
    registry = Registry(client, QUEUE_TABLE)
    for hours in (1, 2, 3, 4, 5):
        late = Effects(now=lambda hours=hours: Effects().now() + hours * 3_600_000_000)
        if hours == 2:
            drain_old_parts(client)
        for _ in registry.last_visits([*registry.queues(), *registry.sleeping(0)]):
            queue = fresh(client, creates=True, options=Options(), effects=late, report=lambda _: None)
            doorbells = queue.context.creator.doorbells
            if depth := visit(queue.context, doorbells):
                replace(doorbells, key=KMS_KEY).update(KEY, queue.context.config().doorbell)
                registry.record(queue.key, CountedDepth(depth, late.now(), late.now()))
            if hours == 3:
                removing.begin(queue.context, force=True)


DEEDS = {
    "put_queue": (queue_without_a_doorbell, put_twice),
    "add_jobs": (nothing, add_and_collide),
    "list_jobs": (worked_at, look_up),
    "list_queues": (worked_at, list_queues),
    "get_queue": (worked_at, get_queue),
    "list_sessions": (worked_at, list_sessions),
    "pause_queue": (queue_without_a_doorbell, pause_queue),
    "resume_queue": (paused_queue_without_a_doorbell, resume_queue),
    "revive_jobs": (worked_at_and_raised, revive_jobs),
    "delete_jobs": (worked_at, delete_jobs),
    "remove_queue": (worked_at_beside_an_empty_queue, remove_queue),
    "sweep_jobs": (worked_at_and_abandoned, sweep_late),
}


def test_no_function_may_create_change_or_delete_a_doorbell_of_the_stack(configured):
    written = Written(configured.template, "Fanin-dev")
    policies = written.resolved(configured.of_type("AWS::IAM::Policy")).values()
    changes = {
        (action, resource.rpartition(":")[2])
        for each in policies
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
        for action in set(OF_OWN) & set(listed(statement["Action"]))
        for resource in listed(statement["Resource"])
    }
    prefix, account = names.doorbell_prefix("dev"), "111122223333"
    asked = [(account, "thumbs"), (account, "a.b"), (account, "q" * 80), ("tenant", "thumbs")]
    own = [names.doorbells_of(prefix, account, *queue)[-1] for queue in asked]
    by_stack = [names.stack_doorbell(prefix, queue) for queue in ("thumbs", "a.b", "q" * 80)]

    for action in OF_OWN:
        resources = [resource for granted, resource in changes if granted == action]
        assert all(any(fnmatchcase(name, each) for each in resources) for name in own)
        assert not [name for name in by_stack if any(fnmatchcase(name, each) for each in resources)]


@pytest.mark.parametrize("name", HANDLERS)
def test_a_handler_is_granted_what_its_use_case_sends_and_no_more(name):
    before, deed = DEEDS[name]
    handler = HANDLERS[name]
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        create_outcomes_table(client)
        before(client)
        sent = Sent(client)
        ASKED_OF_SQS.actions.clear()
        deed(client)
    grants = {(action, QUEUE_TABLE) for action in handler.table}
    grants |= {("dynamodb:Query", f"{QUEUE_TABLE}/index/{index}") for index in handler.indexes}

    assert ASKED_OF_SQS.actions == set(handler.doorbells)
    assert sent.actions <= grants
    assert grants - sent.actions <= FALLBACK.get(name, set())
