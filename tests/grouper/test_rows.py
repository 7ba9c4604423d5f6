"""The rows on DynamoDB: their expiry, those of a newer release, and the whole way over the store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import botocore.endpoint
import pytest
from botocore.config import Config
from moto import mock_aws

from fanin.errors import NewerSchema, StoreUnavailable
from fanin.grouper import (
    Answer,
    BundleMessage,
    Grouper,
    Lane,
    Lease,
    NewTask,
    Outcome,
    Policy,
    TaskMessage,
    TaskState,
    Verdict,
)
from fanin.grouper.dynamodb import DynamoStore, items, requests
from fanin.grouper.rules.model import BundleKey, TaskKey
from fanin.grouper.use_cases.consuming import consume
from tests.contract import golden, moto_clients
from tests.contract.grouper.calls import ENDED, LANE, LATER, NOW, empty, rows, task
from tests.contract.grouper_tables import TABLES, create_tables
from tests.grouper.conftest import Bench, waiting
from tests.scripted import AnsweringClient, refused

EXPIRY = {"N": str(int(LATER.timestamp()))}
"""The time to live of what expires at LATER: DynamoDB reads it as whole seconds since 1970."""
PART = Lane("tenant", "search", "part-x-0")


def values(request):
    return request["ExpressionAttributeValues"]


def test_a_time_to_live_is_in_whole_seconds_since_1970():
    assert items.time_to_live(datetime(1970, 1, 2, 0, 0, 3, 999999, tzinfo=UTC)) == {"N": "86403"}


@pytest.mark.parametrize("facts", [ENDED, {"state": TaskState.CREATED}])
def test_a_settled_task_has_the_time_to_live_of_its_new_expiry(facts):
    settled = task(expires_at=LATER + timedelta(days=1), **facts)
    written = values(requests.settle("Tasks", settled, "bundle"))

    assert written[":ttl"] == {"N": str(int(LATER.timestamp()) + 86_400)}


def test_a_claim_gives_the_bundle_and_its_tasks_the_time_to_live_of_the_bundle():
    actions = requests.claim("Tasks", "Bundles", empty().joined(("a", "b")), ("a", "b"))["TransactItems"]

    assert [values(action["Update"])[":ttl"] for action in actions] == [EXPIRY] * 3


def test_a_void_bundle_has_a_time_to_live():
    request = requests.seal("Bundles", empty())

    assert values(request)[":ttl"] == EXPIRY
    assert "#ttl = if_not_exists(#ttl, :ttl)" in request["UpdateExpression"]


@pytest.mark.parametrize("holder", ["me", None])
def test_the_lease_of_a_part_is_deleted_30_days_after_it_ends(holder):
    request = requests.put_lease("Leases", Lease(PART, 1, "me", NOW), Lease(PART, 2, holder, LATER))

    assert values(request)[":ttl"] == {"N": str(int(LATER.timestamp()) + 30 * 86_400)}


def test_the_lease_of_a_target_is_never_deleted():
    assert ":ttl" not in values(requests.put_lease("Leases", None, Lease(LANE, 1, "me", LATER)))


def test_a_task_whose_row_is_deleted_while_it_is_registered_again_asks_for_a_retry():
    store = DynamoStore(AnsweringClient(refused(), {}), TABLES)
    with pytest.raises(StoreUnavailable, match="deleted during the write; retry"):
        store.create(task("a"))


SEEN, WANTED = Lease(LANE, 6, "me", NOW), Lease(LANE, 7, "you", LATER)


@pytest.mark.parametrize("begin", [0, 5, 15])
def test_the_pages_of_many_open_tasks_are_those_of_each_segment_from_any_one_on(begin):
    last = {"pk": {"S": "tenant#a"}, "lane": {"S": str(LANE)}, "order": {"S": "1"}}
    first, second = items.task_item(task("a")), items.task_item(task("b"))
    broken_off = {"Items": [first], "LastEvaluatedKey": last}
    store, client = store_of(broken_off, broken_off, {"Items": [second]}, *[{"Items": []}] * 15)
    store = replace(store, draw=lambda below: begin % below)

    assert [each.task_id for each in rows(store.open_tasks)] == ["a", "a", "b"]
    sent = [(request.get("Segment"), request.get("ExclusiveStartKey")) for _, request in client.sent]
    others = [((begin + number) % 16, None) for number in range(1, 16)]
    assert sent == [(None, None), (begin, None), (begin, last), *others]


def store_of(*answers):
    client = AnsweringClient(*answers)
    return DynamoStore(client, TABLES, pause=lambda _: None), client


SENTENCE = "upgrade fanin in this process"


@pytest.fixture
def bench():
    """A group-batcher over rows of each kind, when the lease and all work is overdue."""
    with mock_aws():
        bench = Bench()
        bench.store = golden.groupers()
        bench.world = replace(bench.world, store=bench.store)
        bench.grouper = Grouper(bench.world)
        bench.clock.at = NOW + timedelta(hours=2)
        yield bench


def make_newer(bench, table, name):
    golden.put(bench.store, table, golden.newer(golden.rows(table)[name]))


def sent(bench):
    return [posting.message for posting in bench.queue.sent]


def test_a_newer_bundle_keeps_no_lane_from_its_sweep(bench, caplog):
    make_newer(bench, "bundles", "fence 7")
    with pytest.raises(NewerSchema, match="has schema version 99"):
        bench.grouper.sweep()

    assert [message.key for message in sent(bench)] == [TaskKey("tenant", "open")]
    assert SENTENCE in caplog.text


def test_a_newer_task_returns_its_message_alone(bench, caplog):
    make_newer(bench, "tasks", "open")
    messages = [TaskMessage(TaskKey("tenant", name)) for name in ("open", "ok")]
    records = [{"messageId": each.key.task_id, "body": each.body()} for each in messages]
    consumed = consume(records, lambda body: bench.grouper.lead(TaskMessage.parse(body)), lambda: True)

    assert consumed.failed == ("open",)
    assert SENTENCE in caplog.text


def test_a_newer_task_is_left_out_of_the_bundle_of_its_lane(bench, caplog):
    make_newer(bench, "tasks", "open")
    lease = golden.rows("leases")["tenant#search#0"] | {"fence": {"N": "20"}}
    golden.put(bench.store, "leases", lease)
    other = bench.grouper.register("tenant", NewTask({}, "search", "other"))
    bench.clock.advance(seconds=120)
    bench.grouper.lead(TaskMessage(other.key))
    rows = golden.stored(bench.store, "tasks")

    assert bench.store.task(other.key).state == "BUNDLED"
    assert rows[str({"pk": {"S": "tenant#open"}})] == golden.newer(golden.rows("tasks")["open"])


def test_a_newer_task_or_bundle_is_neither_registered_over_nor_called(bench):
    make_newer(bench, "tasks", "open")
    make_newer(bench, "bundles", "fence 7")
    bench.clock.at = NOW
    with pytest.raises(NewerSchema, match=SENTENCE):
        bench.grouper.register("tenant", NewTask({}, "search", "open"))
    with pytest.raises(NewerSchema, match=SENTENCE):
        bench.grouper.handle(
            BundleMessage(BundleKey("tenant", "1b57b661-16c2-576c-92a6-43df35dc0273")),
            bench.api,
            bench.listener,
        )

    assert bench.api.calls == []


WRITES = {"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}
BY_KEY = {"GetItem", "BatchGetItem"}


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setattr(botocore.endpoint.time, "sleep", lambda _: None)
    with mock_aws():
        retries = {"mode": "standard", "total_max_attempts": 3}
        client = moto_clients.client("dynamodb", config=Config(retries=retries))
        create_tables(client)
        yield client


class Moody:
    """A batch API that is busy at first, refuses b, and takes c at the second time."""

    def __init__(self):
        self.seen = set()

    def call(self, call):
        if call.attempt == 1:
            return Answer(Outcome(Verdict.RETRY, "busy"))
        names = {member.task_id for member in call.members}
        again = {"c"} & names - self.seen
        self.seen |= names
        named = {"b": Outcome(Verdict.FAIL, "refused")} if "b" in names else {}
        return Answer(members=named | {name: Outcome(Verdict.RETRY, "later") for name in again})


def played(client, names):
    """Tasks from their registration to their end; the states they ended in."""
    bench = Bench(Policy(max_size=3, rate=100.0))
    bench.store = DynamoStore(client, TABLES, pause=lambda _: None)
    bench.world = replace(bench.world, store=bench.store)
    bench.grouper = Grouper(bench.world)
    bench.api.call = Moody().call
    bench.register(*names)
    bench.drain()
    assert waiting(bench) == []
    return bench, bench.states(*names)


def test_tasks_go_from_their_registration_to_their_end(client):
    bench, states = played(client, "abcd")

    assert states == ["SUCCEEDED", "FAILED", "SUCCEEDED", "SUCCEEDED"]
    assert bench.task("b").detail == "refused"
    assert bench.task("c").attempts == 1
    assert len(bench.listener.reported) == 4
    live = bench.store.live(bench.clock.at, None)
    assert not live.rows


def test_every_write_is_conditional_and_every_read_by_key_consistent(client):
    seen = []
    client.meta.events.register(
        "provide-client-params.dynamodb.*", lambda params, model, **_: seen.append((model.name, params))
    )
    played(client, "abcd")
    actions = [(name, part) for name, params in seen for part in actions_of(params)]

    assert {name for name, _ in actions} >= WRITES - {"DeleteItem"} | BY_KEY | {"Query"}
    assert all(part.get("ConditionExpression") for name, part in actions if name in WRITES)
    assert all(part["ConsistentRead"] is True for name, part in actions if name in BY_KEY)
    assert all("IndexName" in part for name, part in actions if name in {"Query", "Scan"})


def actions_of(params):
    """The parts of a request that concern one table each."""
    if "TransactItems" in params:
        return [next(iter(action.values())) for action in params["TransactItems"]]
    if "RequestItems" in params:
        return list(params["RequestItems"].values())
    return [params]
