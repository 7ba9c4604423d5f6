"""How long the row of a session is kept: docs/queue.md promises a day after its last heartbeat."""

from __future__ import annotations

import pytest
from moto import mock_aws

from fanin.queue.dynamodb import DynamoStore
from fanin.queue.rules.model import Member
from tests.contract import moto_clients
from tests.contract.queue_table import QUEUE_TABLE, create_queue_table
from tests.queue.conftest import KEY, START

DAY_SECONDS = 24 * 60 * 60


@pytest.fixture
def store():
    with mock_aws():
        client = moto_clients.client("dynamodb")
        create_queue_table(client)
        yield DynamoStore(client, QUEUE_TABLE)


def deleted_at(store) -> int:
    """Return the second at which DynamoDB may delete the one row of the table."""
    (row,) = store.client.scan(TableName=QUEUE_TABLE)["Items"]
    return int(row["ttl"]["N"])


def test_the_row_of_a_session_is_kept_for_a_day_after_the_expiry_of_its_last_heartbeat(store):
    expires_us = START + 5_000_000
    store.enter(KEY, Member("s1", True, expires_us, 5_000_000, "host", 1, START))
    entered = deleted_at(store)
    store.beat(KEY, "s1", expires_us + 90_000_000)

    assert entered == expires_us // 1_000_000 + DAY_SECONDS
    assert deleted_at(store) == entered + 90
