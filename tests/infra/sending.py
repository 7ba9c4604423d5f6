"""What a use case sends to DynamoDB on tables that others have written to, as IAM looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

AT = datetime(2026, 1, 1, tzinfo=UTC)
# Sent too where a refused write does not bring along what stands in its way; here it always does.
FALLBACK = {("dynamodb:GetItem", "Batches"), ("dynamodb:BatchGetItem", "Pages")}


class Sent:
    """The DynamoDB actions that a client sends, as (IAM action, table)."""

    def __init__(self, client: Any) -> None:
        self.actions: set[tuple[str, str]] = set()
        client.meta.events.register("provide-client-params.dynamodb", self._note)

    def _note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.actions |= set(asked_of(params, model.name))


def asked_of(params: dict[str, Any], operation: str) -> Iterator[tuple[str, str]]:
    """Yield the action and the table, or its index, of which IAM is asked."""
    if operation == "TransactWriteItems":
        # IAM looks at the parts: a Put asks for PutItem, an Update for UpdateItem.
        for item in params["TransactItems"]:
            ((name, part),) = item.items()
            yield f"dynamodb:{name}Item", part["TableName"]
        return
    for table in params["RequestItems"] if "RequestItems" in params else [_asked(params)]:
        yield f"dynamodb:{operation}", table


def _asked(params: dict[str, Any]) -> str:
    index = params.get("IndexName")
    return f"{params['TableName']}/index/{index}" if index else str(params["TableName"])
