"""The event in the status of a batch: none while it is live, then that of its end, confirmed or not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.tracker import State
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import BatchKey
from tests.api.conftest import AT, TENANT
from tests.api.gateway import Gateway
from tests.api.test_lifecycle_routes import opened

TYPES = {
    State.COMPLETE: "BatchCompleted",
    State.FAILED: "BatchFailed",
    State.CANCELLED: "BatchCancelled",
    State.TIMED_OUT: "BatchTimedOut",
}


@pytest.mark.parametrize("query", [None, {"progress": "none"}])
@pytest.mark.parametrize("state", State)
def test_the_event_is_that_of_the_state(
    gateway: Gateway, memory: MemoryStore, state: State, query: dict[str, str] | None
) -> None:
    batch_id, _ = opened(gateway)
    key = BatchKey(TENANT, batch_id)
    memory.batches[key] = replace(memory.batches[key], state=state)
    answer = gateway.send("GET", f"/v1/batches/{batch_id}", query=query)

    if state is State.EXPIRED:
        assert answer.status == 404
    elif state in TYPES:
        event = {"eventId": f"{batch_id}:{state}", "type": TYPES[state], "confirmed": False}
        assert answer.body["event"] == event
        memory.confirm(key, AT)
        again = gateway.send("GET", f"/v1/batches/{batch_id}", query=query)
        assert again.body["event"] == event | {"confirmed": True}
    else:
        assert "event" not in answer.body


def test_states_with_an_event_and_without_are_all_there_are() -> None:
    assert {*TYPES, State.OPEN, State.CLOSED, State.EXPIRED} == set(State)
