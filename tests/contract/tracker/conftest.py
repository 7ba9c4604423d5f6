"""One suite, every store: in a dictionary, that of a fake client (its stream unread), and on DynamoDB.

tests/contract/engines.py has what plays DynamoDB.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanin.settings.tracking import Tables
from fanin.testing.fake import StreamedStore
from fanin.tracker import Batch, TrackerStore
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.memory import MemoryStore
from tests.contract import engines
from tests.contract.tables import TABLES, create_tables
from tests.contract.tracker.calls import KEY, NOW
from tests.tracker.calls import new_batch


@pytest.fixture(params=["memory", "fake", "dynamodb"])
def store(request: pytest.FixtureRequest) -> Iterator[TrackerStore]:
    if request.param == "memory":
        yield MemoryStore()
        return
    if request.param == "fake":
        yield StreamedStore()
        return
    with engines.emptied():
        yield DynamoStore(engines.client(create_tables), Tables(*TABLES), pause=lambda _: None)


@pytest.fixture
def batch() -> Batch:
    return new_batch(KEY, NOW, "käy 🎈")
