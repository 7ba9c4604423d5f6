"""The whole way over the DynamoDB store: every write conditional, every decision read consistent, and each
write's answer lost once (applied, unanswered, sent again by the client)."""

from __future__ import annotations

from dataclasses import replace

import botocore.endpoint
import pytest
from botocore.config import Config
from botocore.exceptions import ConnectionClosedError
from moto import mock_aws
from moto.core.models import botocore_stubber

from fanin.grouper import Answer, Grouper, Outcome, Policy, Verdict
from fanin.grouper.dynamodb import DynamoStore
from tests.contract import moto_clients
from tests.contract.grouper_tables import TABLES, create_tables
from tests.grouper.conftest import Bench, waiting

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


class LosingOne:
    """Carries every request out, and loses the answer to one write."""

    def __init__(self, number):
        self.number, self.count, self.lost = number, 0, None

    def __call__(self, event_name, request, **kwargs):
        if event_name.rsplit(".", 1)[-1] not in WRITES:
            return
        self.count += 1
        if self.count - 1 != self.number:
            return
        self.lost = event_name
        botocore_stubber(event_name, request, **kwargs)
        raise ConnectionClosedError(endpoint_url=request.url)


def test_the_answer_to_every_write_may_be_lost(client):
    counting = LosingOne(-1)
    client.meta.events.register_first("before-send.dynamodb", counting)
    played(client, "bc")
    client.meta.events.unregister("before-send.dynamodb", counting)
    for number in range(counting.count):
        empty_tables(client)
        losing = LosingOne(number)
        client.meta.events.register_first("before-send.dynamodb", losing)
        _, states = played(client, "bc")
        client.meta.events.unregister("before-send.dynamodb", losing)

        assert losing.lost
        assert states == ["FAILED", "SUCCEEDED"], (
            f"after the answer to {losing.lost}, request {number}, was lost"
        )


def empty_tables(client):
    for name in (TABLES.tasks, TABLES.leases, TABLES.bundles):
        client.delete_table(TableName=name)
    create_tables(client)
