"""The work queues' settings, read from an environment."""

from __future__ import annotations

import pytest

from fanin.aws.jobs import JobSettings
from fanin.errors import InvalidRequest

ENVIRONMENT = {"FANIN_QUEUE_TABLE": "table", "FANIN_DOORBELL_URL": "shared", "FANIN_TENANT": "us"}


def test_a_queue_rings_at_its_own_doorbell_or_at_the_shared_one():
    settings = JobSettings.from_env(ENVIRONMENT | {"FANIN_DOORBELLS": '{"thumbs": "own"}'})

    assert settings.doorbell_of("us", "thumbs") == "own"
    assert settings.doorbell_of("us", "others") == "shared"
    assert settings.doorbell_of("them", "thumbs") == "shared"


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("FANIN_QUEUE_TABLE", "the stack's output QueueTable"),
        ("FANIN_DOORBELL_URL", "the stack's output DoorbellQueueUrl"),
        ("FANIN_TENANT", "the id of the account"),
    ],
)
def test_what_is_missing_is_named_with_where_it_is_to_be_had(name, origin):
    with pytest.raises(InvalidRequest, match=f"{name} is not set: it is {origin}; .*`fanin local env`"):
        JobSettings.from_env({key: value for key, value in ENVIRONMENT.items() if key != name})


@pytest.mark.parametrize("text", ["", "x", "[]", "7", '{"a": 1}'])
def test_doorbells_are_urls_by_name(text):
    with pytest.raises(InvalidRequest, match="FANIN_DOORBELLS"):
        JobSettings.from_env(ENVIRONMENT | {"FANIN_DOORBELLS": text})
