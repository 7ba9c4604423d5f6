"""The work queues' settings, read from an environment."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest
from fanin.settings.jobs import JobSettings

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


KEY = "arn:aws:kms:eu-west-1:111122223333:key/mrk-0f6b4b6a"


def test_the_key_and_the_tags_of_doorbells_are_read_from_the_environment():
    given = {"FANIN_DOORBELL_KEY": KEY, "FANIN_DOORBELL_TAGS": '{"service": "fanin"}'}
    settings = JobSettings.from_env(ENVIRONMENT | given)

    assert (settings.doorbell_key, settings.doorbell_tags) == (KEY, {"service": "fanin"})


MALFORMED = {
    "FANIN_DOORBELL_KEY": (
        ["*", f"{KEY}*", "alias/aws/sqs", "arn:aws:kms:eu-west-1:111122223333:*"],
        "arn:aws:kms:REGION:ACCOUNT:key/ID",
    ),
    "FANIN_DOORBELL_TAGS": (["", "x", "[]", '{"a": 1}'], "takes a JSON object of texts"),
    "FANIN_DOORBELL_PREFIX": (
        ["x", "fanin-dev_bell_", f"{PREFIX}*", "arn:aws:sqs:eu-west-1::fanin"],
        "the stack's output DoorbellPrefix",
    ),
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name in MALFORMED for text in MALFORMED[name][0]]
)
def test_a_malformed_setting_of_doorbells_is_named_with_its_form(name, text):
    with pytest.raises(InvalidRequest, match=f"{name}.*{MALFORMED[name][1]}"):
        JobSettings.from_env(ENVIRONMENT | {name: text})
