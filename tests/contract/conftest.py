"""One suite, every store: in a dictionary, and on DynamoDB as moto plays it (one thread, so that is fair)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
import pytest
from moto import mock_aws

from fanin.aws.settings import Tables
from fanin.tracker import TrackerStore
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.memory import MemoryStore
from tests.contract.tables import TABLES, create_tables


@contextmanager
def deep_recursion() -> Iterator[None]:
    """moto parses an expression by recursion, a level for each of the 171 digits of a bulk write."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    yield
    sys.setrecursionlimit(usual)


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest) -> Iterator[TrackerStore]:
    if request.param == "memory":
        yield MemoryStore()
        return
    with mock_aws(), deep_recursion():
        client = boto3.client("dynamodb", region_name="us-east-1")
        create_tables(client)
        yield DynamoStore(client, Tables(*TABLES), pause=lambda _: None)
