"""The tracker's tables for executors: the names are pickled, clients are created in each process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from fanin.aws.forking import cache_per_process
from fanin.pacing import THREADS
from fanin.settings import tracking as settings
from fanin.tracker.dynamodb import DynamoStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ATTEMPTS = 12
# Adaptive: a throttled client slows down, which leaves capacity for the consumers.
RETRIES = Config(
    retries={"mode": "adaptive", "total_max_attempts": ATTEMPTS},
    connect_timeout=5,
    read_timeout=20,
    max_pool_connections=THREADS,
)
# What botocore does again for each request, and needs not: the tests check all requests by the rules of AWS,
# and its own name of the client is put together anew.
LEAN = RETRIES.merge(Config(parameter_validation=False, user_agent="fanin"))


@dataclass(frozen=True, slots=True)
class Tables:
    """Both tables by name; *region* and *endpoint* default to the executor's environment."""

    batches: str
    pages: str
    region: str | None = None
    endpoint: str | None = None

    @property
    def client(self) -> DynamoDBClient:
        """Return this process's DynamoDB client."""
        return _client(self.region, self.endpoint)

    @property
    def store(self) -> DynamoStore:
        """Return the tracker's store on these tables; its reads are consistent."""
        return DynamoStore(self.client, settings.Tables(self.batches, self.pages))


@cache_per_process
def _client(region: str | None, endpoint: str | None) -> DynamoDBClient:
    client = boto3.client("dynamodb", region_name=region, endpoint_url=endpoint, config=LEAN)
    for operation in ("BatchGetItem", "BatchExecuteStatement"):
        client.meta.events.register(f"before-parse.dynamodb.{operation}", _keep_responses)
    return client


def _keep_responses(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    """Take responses from the JSON of an answer as they are: pages have no binary values to decode.

    botocore builds an object for each of the 171 digits of a page.
    """
    if response_dict["status_code"] == HTTPStatus.OK:
        answer = json.loads(response_dict["body"])
        customized_response_dict["Responses"] = answer.pop("Responses", {})
        response_dict["body"] = json.dumps(answer).encode()
