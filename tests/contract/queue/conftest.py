"""The two stores of the work queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from fanin.queue.dynamodb import DynamoStore
from fanin.queue.memory import MemoryStore
from tests.contract import engines
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table


def _holds(write: Mapping[str, Any], written: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a user's write is applied over the rows of those before it."""
    ((_, request),) = write.items()
    needs_row = request.get("ConditionExpression", "").startswith("attribute_exists")
    return not needs_row or any(request["Item"] == each["Put"]["Item"] for each in written)


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest) -> Iterator[MemoryStore | DynamoStore]:
    if request.param == "memory":
        store = MemoryStore(admits=lambda write: _holds(write, store.written))
        yield store
        return
    with engines.emptied():
        yield DynamoStore(engines.client(create_queue_table), QUEUE_TABLE)
