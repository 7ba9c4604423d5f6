"""The rules where requests are sent: in the clients of the tests, and in the emulator."""

from __future__ import annotations

import asyncio
import json

import pytest
from botocore.exceptions import ClientError
from botocore.session import Session
from moto import mock_aws
from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

from fanin.aws import clients
from fanin.local.emulator_patches.request_checks import checked
from fanin.local.request_rules.reserved import ACCEPTED, RESERVED
from tests.contract import moto_clients
from tests.request_rules import hook
from tests.request_rules.requests import TABLE, one_of, put, tables


def test_reserved_names_are_those_that_moto_knows_and_refuses_but_for_two():
    """So an expression of production code, which is sent to moto too, escapes all names of the page."""
    assert set(ReservedKeywords.get_reserved_keywords()) == RESERVED | ACCEPTED
    assert not RESERVED & ACCEPTED


@pytest.mark.parametrize("made_by", ["boto3", "botocore", "fanin"])
def test_every_client_refuses_what_aws_refuses(made_by, monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    makers = {
        "boto3": lambda: moto_clients.client("dynamodb"),
        "botocore": lambda: Session().create_client("dynamodb", "us-east-1"),
        "fanin": lambda: clients._own_session().create_client("dynamodb", "us-east-1"),
    }
    with mock_aws(), hook.expected() as refused:
        client = makers[made_by]()
        client.create_table(**TABLE, BillingMode="PAY_PER_REQUEST")
        client.put_item(**put({"n": {"N": "1" * 38}}))
        with pytest.raises(ClientError, match="ValidationException"):
            client.put_item(**put({"n": {"N": "1" * 39}}))

    assert len(refused) == 1


async def answers(*_):
    return 200, {}, b"{}"


@pytest.mark.parametrize(
    ("operation", "body", "status"),
    [
        ("DynamoDB_20120810.PutItem", one_of(100), 200),
        ("DynamoDB_20120810.PutItem", one_of(101), 400),
        ("AmazonSQS.SendMessage", {"MessageBody": ""}, 400),
        ("AWSEvents.PutEvents", {"Entries": []}, 400),
        ("DynamoDB_20120810.PutItem", {"TableName": "Things"}, 200),
        ("DynamoDB_20120810.PutItem", "no request", 200),
    ],
)
def test_the_emulator_refuses_it_too_and_answers_malformed_requests_itself(operation, body, status):
    handle = checked(answers, tables())

    found = asyncio.run(handle("POST", "/", {"x-amz-target": operation}, json.dumps(body).encode(), {}))

    assert found[0] == status
