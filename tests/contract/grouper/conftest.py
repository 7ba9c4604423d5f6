"""The two kinds of store for the group-batcher."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from fanin.grouper import GrouperStore
from fanin.grouper.dynamodb import DynamoStore
from fanin.grouper.memory import MemoryStore
from tests.contract import moto_clients
from tests.contract.grouper_tables import TABLES, create_tables


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest) -> Iterator[GrouperStore]:
    if request.param == "memory":
        yield MemoryStore()
        return
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_tables(client)
        yield DynamoStore(client, TABLES, pause=lambda _: None)
