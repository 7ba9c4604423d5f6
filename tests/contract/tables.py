"""The tracker's tables, as small as a test needs them; the template's own are tested in tests/infra."""

from __future__ import annotations

from typing import Any

TABLES = ("Batches", "Pages")


def create_tables(client: Any) -> None:
    """Create both tables, keyed as the template keys them."""
    for name, keys in (("Batches", {"pk": "HASH", "sk": "RANGE"}), ("Pages", {"pk": "HASH"})):
        client.create_table(
            TableName=name,
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in keys.items()],
            BillingMode="PAY_PER_REQUEST",
        )
