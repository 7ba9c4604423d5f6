"""The requests of each use case on DynamoDB and SQS, as moto implements them."""

from __future__ import annotations

import pytest
from moto import mock_aws

from fanin.queue import Effects, NewJob, Options, Queue, QueueContext
from fanin.queue.administration import removing
from fanin.queue.dynamodb import DynamoStore
from fanin.queue.maintenance import sleeping
from fanin.queue.sqs import SqsDoorbell
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.item_ids import item_named
from tests.queue.conftest import KEY, expects

READS = {"GetItem", "Query"}
WRITES = {"PutItem", "UpdateItem", "DeleteItem"}


@pytest.fixture
def asked():
    return []


@pytest.fixture
def queue(asked, time):
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        client.meta.events.register(
            "provide-client-params.dynamodb",
            lambda params, model, **_: asked.append((model.name, params)),
        )
        sqs = moto_clients.client("sqs")
        bell = SqsDoorbell(sqs, sqs.create_queue(QueueName="doorbell")["QueueUrl"], KEY)
        effects = Effects(
            time.now, time.monotonic, pause=lambda _: None, each=lambda f, values: [f(v) for v in values]
        )
        options = Options(parts=2, max_failures=1)
        context = QueueContext(DynamoStore(client, QUEUE_TABLE), bell, KEY, options, effects)
        yield Queue(context, lambda duties: lambda: None)


def outcome(name, **more):
    item = {"pk": {"S": f"outcome#{name}"}, "sk": {"S": "1"}}
    return {"Put": {"TableName": QUEUE_TABLE, "Item": item, **more}}


def run_each_use_case(queue, time):
    """Each use case once, rejections included."""
    queue.add_all(["a", "b", NewJob("c", delay=1, item_id=item_named("item")), "a"])
    with queue.take(2, wait=0) as jobs:
        queue.add("a", on_busy="rerun")
        jobs.ack(jobs[0], [outcome("first")])
    time.sleep(2)
    queue.sweep()
    with expects(ZeroDivisionError), queue.take(5, wait=0, parts=[0, 1]):
        raise ZeroDivisionError
    queue.depth(), queue.queued(), queue.in_progress(), queue.delayed()
    for dead in queue.dead():
        queue.revive(dead)
    with queue.bounded(3.0) as bounded, bounded.take(5, wait=0) as jobs:
        jobs.release(jobs[0])
    with queue.take(wait=0):
        queue.taker.worker.session.beat()
        queue.taker.worker.maintenance.tick()
    queue.close()
    queue.sweep()


def whom_it_reads(read) -> str:
    """Return the kind of the rows that a weak read returns."""
    key = read.get("Key", {}).get("pk") or read["ExpressionAttributeValues"][":pk"]
    return key["S"][:2]


def test_every_write_has_a_condition_and_every_read_is_consistent(queue, time, asked):
    run_each_use_case(queue, time)
    reads = [params for name, params in asked if name in READS and params.get("Select") != "COUNT"]
    reads += [
        table for name, params in asked if name == "BatchGetItem" for table in params["RequestItems"].values()
    ]
    writes = [params for name, params in asked if name in WRITES]
    firsts = [p["TransactItems"][0] for name, p in asked if name == "TransactWriteItems"]

    weak = [read for read in reads if not read["ConsistentRead"]]

    assert {whom_it_reads(read) for read in weak} == {"S#", "C#"}, "a peek at the sessions and the config"
    assert all("ConditionExpression" in write for write in writes)
    assert all("ConditionExpression" in action for first in firsts for action in first.values())
    assert {name for name, _ in asked} == READS | WRITES | {"BatchGetItem", "TransactWriteItems"}


def test_the_reads_of_a_removal_are_consistent(queue, time, asked):
    """A row that a read lacks would stay in the next queue of the name."""
    queue.add("a")
    removing.begin(queue.context, force=True)
    time.sleep(sleeping.SETTLE_SECONDS)
    asked.clear()
    for _ in range(3):
        removing.proceed(queue.context, None)

    assert queue.context.store.config(KEY).removed_us == time.now()
    assert all(params["ConsistentRead"] for name, params in asked if name in READS)


def test_the_look_for_dead_jobs_of_a_forgotten_queue_reads_one_row_of_a_part(queue, time, asked):
    """A row has up to 400 KB."""
    context = queue.context
    context.write_config(sleeping.idle(context.config(), time.now()))
    time.sleep(removing.EMPTY_DAYS * 86_400)
    context.read_config()
    asked.clear()
    removing.begin_if_forgotten(context)

    reads = [params for name, params in asked if name == "Query" and whom_it_reads(params) == "D#"]
    assert [read["Limit"] for read in reads] == [1, 1]
    assert context.config().removing_us == time.now()


def test_a_queue_whose_first_dead_jobs_are_deleted_during_the_look_is_kept_for_the_others(queue, time):
    """The rows of dead jobs are read after their keys."""
    context, client = queue.context, queue.context.store.client
    queue.add_all([*"abcdef"])
    for _ in range(6):
        with expects(ZeroDivisionError), queue.take(wait=0):
            raise ZeroDivisionError
    queue.close()
    context.write_config(sleeping.idle(context.read_config(), time.now()))
    time.sleep(removing.EMPTY_DAYS * 86_400)
    context.read_config()

    def delete(parsed, **_):
        for row in parsed["Items"]:
            client.delete_item(TableName=QUEUE_TABLE, Key={"pk": row["pk"], "sk": row["sk"]})

    client.meta.events.register("after-call.dynamodb.Query", delete)
    removing.begin_if_forgotten(context)
    client.meta.events.unregister("after-call.dynamodb.Query", delete)

    remaining = [context.store.dead(part, 6) for part in context.parts()]
    assert 3 <= sum(map(len, remaining)) < 6
    assert context.read_config().removing_us is None


def left_of(context):
    """Return how many dead jobs are left, once the removal of the queue has come to them."""
    return sum(len(context.store.dead(part, 10)) for part in context.parts())


@pytest.fixture
def dead_ones(queue, time, monkeypatch):
    """A queue that is being removed: dead jobs are left of it, of which a run of the sweep deletes two."""
    monkeypatch.setattr(removing, "ROWS_A_RUN", 2)
    context = queue.context
    queue.add_all([*"abcdefghij"])
    for _ in range(10):
        with expects(ZeroDivisionError), queue.take(wait=0):
            raise ZeroDivisionError
    queue.close()
    removing.begin(context, force=True)
    time.sleep(sleeping.SETTLE_SECONDS)
    while left_of(context) == 10:
        removing.proceed(context, None)
    return context


def test_a_removal_is_not_done_where_others_delete_the_dead_jobs_that_it_lists(dead_ones):
    """The rows of dead jobs are read after their keys."""
    client = dead_ones.store.client

    def delete(parsed, **_):
        for row in parsed["Items"]:
            client.delete_item(TableName=QUEUE_TABLE, Key={"pk": row["pk"], "sk": row["sk"]})

    client.meta.events.register("after-call.dynamodb.Query", delete)
    is_gone = removing.proceed(dead_ones, None)
    client.meta.events.unregister("after-call.dynamodb.Query", delete)

    assert left_of(dead_ones)
    assert not is_gone
    while not is_gone:
        is_gone = removing.proceed(dead_ones, None)
    assert left_of(dead_ones) == 0


def test_no_text_of_a_user_gets_into_an_expression(queue, time, asked):
    run_each_use_case(queue, time)
    expressions = {
        text for _, params in asked for name, text in params.items() if name.endswith("Expression")
    }

    assert len(expressions) < 25
    assert not any("orders" in text or "item" in text.replace("rerun_item", "") for text in expressions)


def test_a_done_job_is_marked_for_an_hour(queue, time):
    queue.add("a")
    with queue.take(1, wait=0) as jobs:
        key = jobs[0].key
    row = queue.context.store.client.get_item(
        TableName=QUEUE_TABLE,
        Key={"pk": {"S": f"J#{key.part}"}, "sk": {"S": key.sort}},
    )["Item"]

    assert int(row["ttl"]["N"]) == time.now() // 1_000_000 + 3600
    assert "ix" not in row
