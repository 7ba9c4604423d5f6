"""Attribute values of rows, and the requests that all stores share."""

from __future__ import annotations

from typing import Any

Item = dict[str, Any]
"""A row, a key or an attribute value in DynamoDB JSON."""

ABSENT = "attribute_not_exists(pk)"
"""The condition that the row does not exist, in a table whose partition key is ``pk``."""


def number(value: int) -> Item:
    return {"N": str(value)}


def text(value: str) -> Item:
    return {"S": value}


def put_new(table: str, row: Item) -> Item:
    """Return the request that puts *row* if no row has its key; a failed condition returns that row."""
    return {
        "TableName": table,
        "Item": row,
        "ConditionExpression": ABSENT,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def in_transaction(request: Item) -> Item:
    """Return *request* as an action of a transaction, which returns no attributes."""
    return {name: value for name, value in request.items() if not name.startswith("ReturnValues")}
