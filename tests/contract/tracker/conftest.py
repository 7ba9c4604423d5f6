"""One suite, every store: in a dictionary, that of a fake client, and on DynamoDB.

tests/contract/engines.py has what plays DynamoDB.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from fanin.aws.settings import Tables
from fanin.testing import FakeFanin
from fanin.tracker import Batch, Retention, State, TrackerStore
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.memory import MemoryStore
from fanin.tracker.options import Mode
from tests.contract import engines
from tests.contract.tables import TABLES, create_tables
from tests.contract.tracker.calls import KEY, NOW


@pytest.fixture(params=["memory", "fake", "dynamodb"])
def store(request: pytest.FixtureRequest) -> Iterator[TrackerStore]:
    if request.param == "memory":
        yield MemoryStore()
        return
    if request.param == "fake":
        yield FakeFanin().store
        return
    with engines.emptied():
        yield DynamoStore(engines.client(create_tables), Tables(*TABLES), pause=lambda _: None)


@pytest.fixture
def batch() -> Batch:
    return Batch(
        tenant=KEY.tenant,
        batch_id=KEY.batch_id,
        state=State.OPEN,
        mode=Mode.EXACT,
        user_key="käy 🎈",
        total=0,
        failed=0,
        page_bits=1024,
        salt=b"0123456789abcdef",
        fingerprint="f",
        retention=Retention(),
        created_at=NOW,
        expires_at=NOW + timedelta(days=7),
    )
