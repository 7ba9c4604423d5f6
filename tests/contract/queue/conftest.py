"""The two stores of the work queue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanin.queue.dynamodb import DynamoStore
from fanin.queue.memory import MemoryStore
from tests.contract import engines
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest) -> Iterator[MemoryStore | DynamoStore]:
    if request.param == "memory":
        yield MemoryStore(admits=lambda write: "ConditionExpression" not in write["Put"])
        return
    with engines.emptied():
        yield DynamoStore(engines.client(create_queue_table), QUEUE_TABLE)
