"""The tracker's store on DynamoDB."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanin.tracker.dynamodb.store import DynamoStore

__all__ = ["DynamoStore"]


def __getattr__(name: str) -> Any:
    """Load the store at its first use: the rows and requests beside it need no boto3."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("fanin.tracker.dynamodb.store").DynamoStore
