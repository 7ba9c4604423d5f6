"""An SQS queue of moto."""

from __future__ import annotations

import boto3
import pytest
from moto import mock_aws

from fanin.aws import clients


@pytest.fixture
def moto_queue(monkeypatch):
    """The URL of a queue."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        clients.long_polls.cache_clear()
        yield boto3.client("sqs").create_queue(QueueName="work")["QueueUrl"]
    clients.long_polls.cache_clear()
