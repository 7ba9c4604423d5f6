"""What a request to DynamoDB writes that no reader of a batch shows."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from fanin.tracker import BatchKey, State
from fanin.tracker.dynamodb import requests
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import ALIVE, PageKey
from fanin.tracker.rules.page import PageMasks

AT = datetime(2026, 3, 1, tzinfo=UTC)
KEY = BatchKey("tenant", "00000000-0000-4000-8000-000000000001")


@pytest.mark.parametrize("state", [state for state in State if state is not State.OPEN])
def test_the_end_of_a_batch_has_an_event_id_and_leaves_the_list_of_live_batches(state):
    request = requests.transition("Batches", KEY, Transition(state, AT, AT, AT + timedelta(hours=1)))
    written, ended = request["ExpressionAttributeValues"], state not in ALIVE

    assert written.get(":eventId") == ({"S": f"{KEY.batch_id}:{state}"} if ended else None)
    assert ("REMOVE liveShard" in request["UpdateExpression"]) is ended


@pytest.mark.parametrize("digit", range(1, 64))
def test_a_digit_is_added_where_its_bits_are_clear_and_no_value_is_listed_that_it_cannot_have(digit):
    request = requests.add_bits("Pages", PageKey(KEY, 0, 0), PageMasks(digit << 6), AT)
    (listed,) = re.findall(r"d1 IN \(([^)]*)\)", request["ConditionExpression"])
    values = [int(request["ExpressionAttributeValues"][name]["N"]) for name in listed.split(",")]

    assert values == [value for value in range(64) if not value & digit]
