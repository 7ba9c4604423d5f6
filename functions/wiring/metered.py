"""The function's DynamoDB client, and the meter of its requests."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fanin.aws import clients
from fanin.aws.dynamodb.meter import Meter
from functions.wiring.starting import at_start

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

meter = Meter()
"""Counts the requests and capacity units of the client since the start of the process."""


@lru_cache(maxsize=1)
def dynamodb() -> DynamoDBClient:
    """Return the DynamoDB client with the meter attached; all stores share it."""
    client = clients.dynamodb()
    meter.attach(client)
    return client


at_start(dynamodb)
