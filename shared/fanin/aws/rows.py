"""What the stores' rows are made of, and how every store puts one in an empty place."""

from __future__ import annotations

from typing import Any

Item = dict[str, Any]
"""A row, a key, or a part of either, as DynamoDB writes it down."""


ABSENT = "attribute_not_exists(pk)"
"""No row is there, in a table whose partition key is ``pk``."""


def number(value: int) -> Item:
    return {"N": str(value)}


def text(value: str) -> Item:
    return {"S": value}


def put_new(table: str, row: Item) -> Item:
    """Store *row* unless one of its key is there, which the refusal brings along."""
    return {
        "TableName": table,
        "Item": row,
        "ConditionExpression": ABSENT,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def in_transaction(request: Item) -> Item:
    """*request* as an action of a transaction, which answers with no attributes."""
    return {name: value for name, value in request.items() if not name.startswith("ReturnValues")}
