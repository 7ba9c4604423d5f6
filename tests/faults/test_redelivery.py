"""The queues that feed functions hide a failed message for little more than a timeout, for a while."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.faults.redelivery import HIDDEN, soon


class Functions:
    """Two functions: one is fed by a queue, one by a stream."""

    def get_paginator(self, name: str) -> Any:
        self.name = name
        return self

    def paginate(self) -> list[Any]:
        if self.name == "list_functions":
            return [
                {
                    "Functions": [
                        {"FunctionArn": "arn:f", "Timeout": 30},
                        {"FunctionArn": "arn:g", "Timeout": 60},
                    ]
                }
            ]
        fed = [
            ("arn:aws:sqs:us-east-1:1:Acks", "arn:f"),
            ("arn:aws:dynamodb:us-east-1:1:table/T/stream/1", "arn:g"),
        ]
        return [{"EventSourceMappings": [{"EventSourceArn": a, "FunctionArn": f} for a, f in fed]}]


@pytest.mark.parametrize(("hidden", "meanwhile"), [("180", "32"), ("30", "30")])
def test_a_failed_message_comes_again_soon_and_later_as_before(hidden, meanwhile):
    with mock_aws():
        sqs = boto3.client("sqs", region_name="us-east-1")
        url = sqs.create_queue(QueueName="Acks", Attributes={HIDDEN: hidden})["QueueUrl"]

        def shown() -> str:
            return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[HIDDEN])["Attributes"][HIDDEN]

        with soon(Functions(), sqs):
            assert shown() == meanwhile
        assert shown() == hidden
