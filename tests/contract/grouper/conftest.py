"""The two kinds of store for the group-batcher."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanin.grouper import GrouperStore
from fanin.grouper.dynamodb import DynamoStore
from fanin.grouper.memory import MemoryStore
from tests.contract import engines
from tests.contract.grouper_tables import TABLES, create_tables


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest) -> Iterator[GrouperStore]:
    if request.param == "memory":
        yield MemoryStore()
        return
    with engines.emptied():
        yield DynamoStore(engines.client(create_tables), TABLES, pause=lambda _: None)
