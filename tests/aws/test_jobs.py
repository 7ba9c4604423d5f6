"""The work queues' settings, read from an environment."""

from __future__ import annotations

import pytest

from fanin.aws.jobs import JobSettings
from fanin.errors import InvalidRequest

PREFIX = "arn:aws:sqs:eu-west-1:111122223333:fanin-dev_bell_"
ENVIRONMENT = {"FANIN_QUEUE_TABLE": "table", "FANIN_TENANT": "us"}


def test_a_worker_over_the_api_needs_a_table_and_a_tenant():
    assert JobSettings.from_env(ENVIRONMENT) == JobSettings(table="table", tenant="us")
    assert JobSettings.from_env(ENVIRONMENT | {"FANIN_DOORBELL_PREFIX": PREFIX}).doorbell_prefix == PREFIX


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("FANIN_QUEUE_TABLE", "the stack's output QueueTable"),
        ("FANIN_TENANT", "the id of the account"),
    ],
)
def test_what_is_missing_is_named_with_where_it_is_to_be_had(name, origin):
    with pytest.raises(InvalidRequest, match=f"{name} is not set: it is {origin}; .*`fanin local env`"):
        JobSettings.from_env({key: value for key, value in ENVIRONMENT.items() if key != name})


@pytest.mark.parametrize("text", ["x", "fanin-dev_bell_", f"{PREFIX}*", "arn:aws:sqs:eu-west-1::fanin"])
def test_the_prefix_of_the_doorbells_is_the_beginning_of_an_arn(text):
    with pytest.raises(InvalidRequest, match=r"FANIN_DOORBELL_PREFIX.*the stack's output DoorbellPrefix"):
        JobSettings.from_env(ENVIRONMENT | {"FANIN_DOORBELL_PREFIX": text})
