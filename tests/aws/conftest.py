"""SQS as moto plays it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from tests.contract import moto_clients


@pytest.fixture
def sqs() -> Iterator[Any]:
    with mock_aws():
        yield moto_clients.client("sqs", region_name="eu-west-1")
