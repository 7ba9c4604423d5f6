from __future__ import annotations

import copy
from typing import Any

import pytest
from ministack.services import sqs

from fanin.local.tuning import of_the_first_visible

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


def test_what_was_taken_is_hidden_from_the_next_receive():
    given, collect = queue([NOW] * 3), of_the_first_visible(sqs._collect_msgs, lambda: NOW)

    first, second = ([each["id"] for each in collect(given, 2, 30)] for _ in range(2))

    assert (first, second) == (["0", "1"], ["2"])


def test_a_receive_of_a_standard_queue_looks_at_no_more_than_it_takes():
    given, shown = queue([NOW] * 100), []

    of_the_first_visible(lambda few, *_: shown.append(len(few["messages"])), lambda: NOW)(given, 10, 30)

    assert shown == [10]


def test_a_message_in_flight_holds_back_its_group_of_a_fifo_queue():
    given = queue([NOW + 5, NOW, NOW], is_fifo=True)
    given["messages"][0] |= {"receive_count": 1, "group_id": "held"}
    given["messages"][1]["group_id"] = "held"

    taken = of_the_first_visible(sqs._collect_msgs, lambda: NOW)(given, 10, 30)

    assert [each["id"] for each in taken] == ["2"]
