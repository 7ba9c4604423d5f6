"""The tracker's tables, as small as a test needs them; the template's own are tested in tests/infra."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TABLES = ("Batches", "Pages")


@contextmanager
def deep_recursion() -> Iterator[None]:
    """moto parses an expression by recursion, a level for each of the 171 digits of a bulk write."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    yield
    sys.setrecursionlimit(usual)


def create_tables(client: Any) -> None:
    """Create both tables, keyed as the template keys them."""
    client.create_table(
        TableName="Batches",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "N" if name == "dueAt" else "S"}
            for name in (
                *("pk", "sk", "dueShard", "dueAt", "liveShard", "tenantShard", "tenantUser"),
                "createdKey",
            )
        ],
        KeySchema=_keys("pk", "sk"),
        GlobalSecondaryIndexes=[
            _index("due", "dueShard", "dueAt", "KEYS_ONLY"),
            _index("live", "liveShard", "createdKey", "KEYS_ONLY"),
            _index("byTenant", "tenantShard", "createdKey", "ALL"),
            _index("byUser", "tenantUser", "createdKey", "ALL"),
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    client.create_table(
        TableName="Pages",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=_keys("pk"),
        BillingMode="PAY_PER_REQUEST",
    )


def _keys(*names: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)
    ]


def _index(name: str, partition: str, sort: str, projection: str) -> dict[str, Any]:
    return {
        "IndexName": name,
        "KeySchema": _keys(partition, sort),
        "Projection": {"ProjectionType": projection},
    }
