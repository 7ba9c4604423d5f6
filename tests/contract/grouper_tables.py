"""The grouper's tables with their indexes, as small as a test needs them."""

from __future__ import annotations

from typing import Any

from fanin.grouper.dynamodb import GrouperTables

TABLES = GrouperTables(tasks="GroupTasks", leases="GroupLeases", bundles="GroupBundles")


def create_tables(client: Any) -> None:
    """Create the three tables, keyed as the store reads and writes them."""
    _create(
        client,
        TABLES.tasks,
        "pk",
        {"open": ("lane", "order", "S", ["tenant", "taskId", "target", "shard", "dueAt"])},
    )
    _create(client, TABLES.leases, "lane", {"targets": ("tenant", "target", "S", [])})
    facts = ["tenant", "bundleId"]
    _create(
        client,
        TABLES.bundles,
        "pk",
        {"live": ("live", "createdAt", "N", facts), "lane": ("lane", "fence", "N", facts)},
    )


def _create(client: Any, name: str, key: str, indexes: dict[str, tuple[str, str, str, list[str]]]) -> None:
    kinds = {key: "S"}
    for hash_key, range_key, kind, _ in indexes.values():
        kinds |= {hash_key: "S", range_key: kind}
    request: dict[str, Any] = {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": kind} for n, kind in kinds.items()],
        "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if indexes:
        request["GlobalSecondaryIndexes"] = [_index(n, *facts) for n, facts in indexes.items()]
    client.create_table(**request)


def _index(name: str, hash_key: str, range_key: str, _: str, facts: list[str]) -> dict[str, Any]:
    included = {"ProjectionType": "INCLUDE", "NonKeyAttributes": facts}
    return {
        "IndexName": name,
        "KeySchema": [
            {"AttributeName": hash_key, "KeyType": "HASH"},
            {"AttributeName": range_key, "KeyType": "RANGE"},
        ],
        "Projection": included if facts else {"ProjectionType": "KEYS_ONLY"},
    }
