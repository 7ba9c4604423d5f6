"""One boto3 client a service and process, with the retry rules that the protocols are built for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

# Silence is answered by sending again: every write is conditional, so a second copy is harmless.
# Four attempts of 5 s fit the 29 s that an HTTP API waits for its function.
RETRIES = Config(
    retries={"mode": "standard", "total_max_attempts": 4},
    connect_timeout=2,
    read_timeout=5,
    max_pool_connections=40,
)


# A long poll is silent for 20 s before it answers.
LONG_POLLS = RETRIES.merge(Config(read_timeout=25))


@cache
def dynamodb() -> DynamoDBClient:
    """The DynamoDB client of this process."""
    client: DynamoDBClient = _client("dynamodb", RETRIES)
    return client


@cache
def sqs() -> SQSClient:
    """The SQS client of this process."""
    client: SQSClient = _client("sqs", LONG_POLLS)
    return client


@cache
def events() -> EventBridgeClient:
    """The EventBridge client of this process."""
    client: EventBridgeClient = _client("events", RETRIES)
    return client


@cache
def s3() -> S3Client:
    """The S3 client of this process."""
    client: S3Client = _client("s3", RETRIES)
    return client


def _client(service: str, config: Config) -> Any:
    return boto3.client(service, config=config)  # type: ignore[call-overload]
