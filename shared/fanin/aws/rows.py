"""What the stores' rows are made of."""

from __future__ import annotations

from typing import Any

Item = dict[str, Any]
"""A row, a key, or a part of either, as DynamoDB writes it down."""


def number(value: int) -> Item:
    return {"N": str(value)}


def text(value: str) -> Item:
    return {"S": value}
