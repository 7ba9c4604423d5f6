"""The queue's table, as small as a test needs it; the template's own is tested in tests/infra."""

from __future__ import annotations

from typing import Any

from fanin.names import JOB_ATTRIBUTES, JOBS_INDEX, QUEUES_INDEX, TENANT_QUEUES_INDEX

QUEUE_TABLE = "Queue"
KEYS = ("pk", "sk", "ix", "listed", "tenant")


def create_queue_table(client: Any) -> None:
    """Create the table with its indexes, keyed as the template keys them."""
    client.create_table(
        TableName=QUEUE_TABLE,
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in KEYS],
        KeySchema=_keys("pk", "sk"),
        LocalSecondaryIndexes=[
            {
                "IndexName": JOBS_INDEX,
                "KeySchema": _keys("pk", "ix"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(JOB_ATTRIBUTES)},
            }
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": QUEUES_INDEX,
                "KeySchema": _keys("listed", "pk"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["parts"]},
            },
            {
                "IndexName": TENANT_QUEUES_INDEX,
                "KeySchema": _keys("tenant", "pk"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            },
        ],
        BillingMode="PAY_PER_REQUEST",
    )


def _keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]
