from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from ministack.core.responses import _service_model
from ministack.services import sqs

from fanin.local.emulator_patches import speedups
from fanin.local.emulator_patches.speedups import delivery, of_the_first_visible

NOW = 1000.0


def queue(visible_at: list[float], is_fifo: bool = False) -> dict[str, Any]:
    messages = [
        {"id": str(number), "body": "", "visible_at": moment, "receive_count": 0, "group_id": str(number)}
        for number, moment in enumerate(visible_at)
    ]
    return {"messages": messages, "attributes": {}, "is_fifo": is_fifo}


@pytest.fixture(autouse=True)
def _at_one_moment(monkeypatch):
    monkeypatch.setattr(sqs.time, "time", lambda: NOW)


@pytest.mark.parametrize("is_fifo", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 10])
def test_a_receive_takes_what_the_emulator_would_take(limit, is_fifo):
    given = queue([NOW, NOW + 5, NOW - 1, NOW + 5, NOW, NOW], is_fifo)
    expected = copy.deepcopy(given)

    taken = of_the_first_visible(sqs._collect_msgs, lambda: NOW)(given, limit, 30)
    usual = sqs._collect_msgs(expected, limit, 30)

    assert [each["id"] for each in taken] == [each["id"] for each in usual]
    assert [each["visible_at"] for each in given["messages"]] == [
        each["visible_at"] for each in expected["messages"]
    ]


def test_a_message_in_flight_holds_back_its_group_of_a_fifo_queue():
    given = queue([NOW + 5, NOW, NOW], is_fifo=True)
    given["messages"][0] |= {"receive_count": 1, "group_id": "held"}
    given["messages"][1]["group_id"] = "held"

    taken = of_the_first_visible(sqs._collect_msgs, lambda: NOW)(given, 10, 30)

    assert [each["id"] for each in taken] == ["2"]


@pytest.fixture
def delivered(monkeypatch):
    """A function that delivers up to *most* messages of a queue; it returns their ids."""
    monkeypatch.setattr(sqs, "_collect_msgs", of_the_first_visible(sqs._collect_msgs, lambda: NOW))

    def deliver(given: dict[str, Any], most: int) -> list[str]:
        monkeypatch.setattr(sqs, "_get_q", lambda _: given)
        return [each["id"] for each in delivery("url", most)]

    return deliver


@pytest.mark.parametrize(
    ("most", "waiting"), [(100, 250), (15, 250), (10, 250), (1, 250), (100, 30), (100, 0)]
)
def test_a_mapping_gets_as_many_messages_as_its_batch_size_allows(delivered, most, waiting):
    given = queue([NOW] * waiting)
    given["attributes"]["VisibilityTimeout"] = "60"

    first = delivered(given, most)

    assert first == [str(number) for number in range(min(most, waiting))]
    assert {each["visible_at"] for each in given["messages"][: len(first)]} <= {NOW + 60}
    assert set(first).isdisjoint(delivered(given, most))


def test_a_mapping_of_a_fifo_queue_gets_ten_at_most(delivered):
    assert len(delivered(queue([NOW] * 50, is_fifo=True), 100)) == 10


def test_a_delivery_is_no_larger_than_an_invocation_takes(delivered, monkeypatch):
    monkeypatch.setattr(speedups, "PAYLOAD_BYTES", 1500)
    given = queue([NOW] * 50)
    for each in given["messages"]:
        each["body"] = "x" * 100

    assert len(delivered(given, 100)) == 20


def test_dead_letter_messages_are_not_delivered(delivered, monkeypatch):
    given, dead = queue([NOW] * 3), queue([])
    policy = {"deadLetterTargetArn": "arn", "maxReceiveCount": 2}
    given["attributes"]["RedrivePolicy"] = json.dumps(policy)
    given["messages"][1]["receive_count"] = 2
    monkeypatch.setattr(sqs, "_queue_by_arn", lambda _: dead)

    assert delivered(given, 100) == ["0", "2"]
    assert [each["id"] for each in dead["messages"]] == ["1"]


@pytest.mark.parametrize("service", speedups.PROTOCOLS)
def test_the_known_protocols_are_those_of_botocore(service):
    known = speedups.of_protocol(_service_model)

    assert known(service).metadata.items() <= _service_model(service).metadata.items()
    assert known("sns") is _service_model("sns")
