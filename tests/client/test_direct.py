"""The client on the tables themselves, as DynamoDB is played by moto."""

from __future__ import annotations

import pytest
from moto import mock_aws

from fanin import Fanin, Tables
from fanin.aws import clients
from fanin.client.transports import direct
from fanin.pacing import each_in_turn
from tests.contract.tables import TABLES, create_tables


@pytest.fixture
def tables(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    # On one thread: moto is not atomic, and may lose one of two updates of an item.
    monkeypatch.setattr(direct, "each_in_threads", each_in_turn)
    with mock_aws():
        clients.dynamodb.cache_clear()
        create_tables(clients.dynamodb())
        yield Tables(*TABLES)
    clients.dynamodb.cache_clear()


def test_a_batch_lives_and_ends_on_the_tables(tables):
    fanin = Fanin.direct(tables, "tenant", page_bits=8)
    with fanin.open("catalog-7") as batch:
        items = batch.add(20)
    fanin.ack(items[:-1])
    (completion,) = fanin.ack(items[-1:]).completions
    (stored,) = clients.dynamodb().scan(
        TableName=tables.batches,
        FilterExpression="sk = :sk",
        ExpressionAttributeValues={":sk": {"S": "batch"}},
    )["Items"]

    assert completion.user_key == "catalog-7"
    assert batch.status().is_complete
    assert (stored["tenant"], stored["pageBits"]) == ({"S": "tenant"}, {"N": "8"})
