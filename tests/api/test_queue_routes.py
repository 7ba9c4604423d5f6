"""PUT /v1/queues/{queue}: a queue is created with its doorbell, and the request can be repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest
from botocore.config import Config
from moto import mock_aws

from fanin.queue import QueueKey
from fanin.queue.administration.creating import QueueCreator
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.config import Phase
from fanin.queue.sqs import SqsDoorbells
from functions.wiring import queueing
from tests.api.gateway import Gateway
from tests.contract import moto_clients

TENANT = "111122223333"
ARNS = f"arn:aws:sqs:us-east-1:{TENANT}:fanin-dev_bell_"
PATH = "/v1/queues/thumbs"


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def sqs():
    with mock_aws():
        yield moto_clients.client("sqs", config=Config(read_timeout=5))


@pytest.fixture
def queues(gateway, environment, store, sqs):
    creator = QueueCreator(store, SqsDoorbells(sqs, ARNS))
    environment.setattr(queueing, "creator", lambda: creator)
    return store


def put(gateway: Gateway, body=None, path: str = PATH, headers=None):
    return gateway.send("PUT", path, body, headers)


def test_a_queue_is_created_once_and_answers_its_doorbell(gateway, queues):
    first, again = put(gateway, {"parts": 3}), put(gateway, {"parts": 3})

    assert (first.status, again.status) == (201, 200)
    assert first.body == again.body
    assert first.body | {"doorbellUrl": ""} == {
        "queue": "thumbs",
        "parts": 3,
        "paused": False,
        "metrics": False,
        "phase": "steady",
        "doorbellUrl": "",
        "doorbellArn": f"{ARNS}queue-thumbs",
    }
    assert queues.config(QueueKey(TENANT, "thumbs")).doorbell == first.body["doorbellUrl"]


def test_more_parts_are_raised_and_the_answer_says_how_far_that_is(gateway, queues):
    put(gateway, {"parts": 4})
    first, again, other = (put(gateway, {"parts": parts}) for parts in (16, 16, 32))
    key = QueueKey(TENANT, "thumbs")
    config = replace(queues.config(key), phase=Phase.DRAINING, since_us=1_772_366_400_000_000, revision=2)
    queues.reconfigure(key, config)

    assert (first.status, again.status, other.status) == (200, 200, 409)
    assert {name: first.body.get(name) for name in ("parts", "target", "phase", "since")} == {
        "parts": 4,
        "target": 16,
        "phase": "preparing",
        "since": None,
    }
    assert again.body == first.body
    assert "from 4 to 16" in other.body["detail"]
    later = put(gateway).body
    assert (later["phase"], later["since"], later["target"]) == ("draining", "2026-03-01T12:00:00.000Z", 16)


BODIES = [{"parts": 0}, {"parts": 257}, {"parts": "8"}, {"parts": 1.0}, {"parts": True}, {"part": 8}, [], "8"]


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_a_body_of_another_form_is_refused(gateway, queues, body):
    assert put(gateway, body).status == 400
    assert queues.configs == {}


def test_the_metrics_of_a_queue_are_switched_on_and_off_and_stay_where_they_are_not_named(gateway, queues):
    answers = [put(gateway, body) for body in ({"metrics": True}, {}, {"metrics": False}, {"metrics": False})]

    assert [answer.status for answer in answers] == [201, 200, 200, 200]
    assert [answer.body["metrics"] for answer in answers] == [True, True, False, False]
    assert put(gateway, {"metrics": "yes"}).status == 400
    assert queues.config(QueueKey(TENANT, "thumbs")).revision == 2


def test_a_queue_that_is_being_removed_is_refused_and_a_removed_one_is_created_again(gateway, queues):
    put(gateway, {"parts": 3})
    key = QueueKey(TENANT, "thumbs")
    for phase in ({"removing_us": 1}, {"removed_us": 2}):
        config = queues.config(key)
        queues.reconfigure(key, replace(config, revision=config.revision + 1, **phase))
        if "removing_us" in phase:
            assert put(gateway).status == 409
    again = put(gateway, {"parts": 5})

    assert (again.status, again.body["parts"]) == (201, 5)
    assert queues.config(key).revision == 3
