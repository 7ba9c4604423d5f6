"""What a request to DynamoDB writes that no reader of a batch shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fanin.tracker import BatchKey, State
from fanin.tracker.dynamodb import requests
from fanin.tracker.lifecycle import Transition
from fanin.tracker.model import ALIVE

AT = datetime(2026, 3, 1, tzinfo=UTC)
KEY = BatchKey("tenant", "00000000-0000-4000-8000-000000000001")


@pytest.mark.parametrize("state", [state for state in State if state is not State.OPEN])
def test_the_end_of_a_batch_has_an_event_id_and_leaves_the_list_of_live_batches(state):
    request = requests.transition("Batches", KEY, Transition(state, AT, AT, AT + timedelta(hours=1)))
    written, ended = request["ExpressionAttributeValues"], state not in ALIVE

    assert written.get(":eventId") == ({"S": f"{KEY.batch_id}:{state}"} if ended else None)
    assert ("REMOVE liveShard" in request["UpdateExpression"]) is ended
