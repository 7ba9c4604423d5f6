"""The published schema of the ending event is that of its model, and the event of every end fits it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fanin.aws.messaging.bus import EVENTS_A_REQUEST, Bus, Event
from fanin.completion_events.ending_event import RANGES_IN_EVENT, EndingEvent
from fanin.local.request_rules import check
from fanin.tracker import Ack, ItemRange, Mode, OpenBatch, Outcome, State, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.ids import COUNT_MAX, TOTAL_MAX
from fanin.tracker.rules.model import REASON_MAX
from fanin.tracker.rules.option_kinds import LABELS_MAX
from fanin.tracker.rules.options import USER_KEY_MAX
from fanin.types import EndingDetail
from functions.openapi.ending_event import document
from tests.api.conftest import TENANT
from tests.grouper.test_eventbridge import Client
from tests.tracker.calls import Clock

PAGE = Path(__file__).parents[2] / "docs" / "events.schema.json"
WIDE = "\U0001f388"
"""A character of four bytes in UTF-8, of twelve where JSON escapes it."""


def published() -> Draft202012Validator:
    return Draft202012Validator(json.loads(PAGE.read_text()))


def test_the_published_schema_is_up_to_date() -> None:
    Draft202012Validator.check_schema(document())

    assert json.loads(PAGE.read_text()) == document(), "run make openapi"


def test_the_type_of_the_ending_event_has_the_fields_of_the_schema() -> None:
    assert EndingDetail.__required_keys__ == set(document()["required"])
    assert set(EndingDetail.__annotations__) == set(document()["properties"])


def _all_done(tracker: Tracker, batch_id: str, group: str, clock: Clock) -> None:
    tracker.close(TENANT, batch_id, "a test")
    tracker.ack(TENANT, [Ack(batch_id, group, 0, 8, "c"), Ack(batch_id, group, 9, 9, "c", Outcome.FAILURE)])


def _failed(tracker: Tracker, batch_id: str, group: str, clock: Clock) -> None:
    tracker.ack(TENANT, [Ack(batch_id, group, 0, 2, "c", Outcome.FAILURE, "broken")])


def _cancelled(tracker: Tracker, batch_id: str, group: str, clock: Clock) -> None:
    tracker.cancel(TENANT, batch_id, "not wanted")


def _swept(tracker: Tracker, batch_id: str, group: str, clock: Clock) -> None:
    clock.at += timedelta(days=8)
    tracker.sweep()


Way = tuple[Callable[[Tracker, str, str, Clock], None], dict[str, Any]]
WAYS: dict[State, Way] = {
    State.COMPLETE: (_all_done, {}),
    State.FAILED: (_failed, {"max_failures": 3}),
    State.CANCELLED: (_cancelled, {"user_key": "mine", "labels": {"team": "search"}}),
    State.TIMED_OUT: (_swept, {"deadline": timedelta(days=1)}),
    State.EXPIRED: (_swept, {}),
}


def ended(state: State, clock: Clock, **more: Any) -> dict[str, Any]:
    """The detail of the event of a batch of ten items that ended so."""
    tracker = Tracker(MemoryStore(), page_bits=8, fresh_for=timedelta(0), now=clock)
    end, options = WAYS[state]
    batch_id = tracker.open(TENANT, OpenBatch(**options | more)).batch_id
    end(tracker, batch_id, tracker.add(TENANT, batch_id, 10).groups[0].id, clock)
    batch = tracker.store.batches[next(iter(tracker.store.batches))]  # type: ignore[attr-defined]
    assert batch.state is state
    return EndingEvent.ended(batch, tracker).detail()


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("state", [state for state in State if state not in (State.OPEN, State.CLOSED)])
def test_the_event_of_every_end_fits_the_schema(state: State, mode: Mode, clock: Clock) -> None:
    detail = ended(state, clock, mode=mode)

    assert list(published().iter_errors(json.loads(json.dumps(detail)))) == []
    assert set(detail) <= set(document()["properties"])
    assert detail["outstanding"] == 10 - detail["acked"]
    assert (detail["completedAt"] is None) is (state is not State.COMPLETE)


def worst(clock: Clock) -> EndingEvent:
    """The largest event that the options and a batch of any size can make."""
    store = MemoryStore()
    tracker = Tracker(store, now=clock)
    labels = {f"{number}{WIDE * 63}": WIDE * 256 for number in range(LABELS_MAX)}
    batch_id = tracker.open("1" * 256, OpenBatch(user_key=WIDE * USER_KEY_MAX, labels=labels)).batch_id
    batch = tracker.cancel("1" * 256, batch_id, WIDE * REASON_MAX)
    one = ItemRange(batch_id, COUNT_MAX - 1, COUNT_MAX - 1)
    event = EndingEvent.ended(batch, tracker)
    counts = dict.fromkeys(("total", "failed", "acked", "upper_bound", "outstanding"), TOTAL_MAX)
    return replace(
        event, ranges=(one,) * RANGES_IN_EVENT, more_ranges=True, closed_at=batch.ended_at, **counts
    )


def test_ten_of_the_largest_events_are_one_request_that_the_bus_takes(clock: Clock) -> None:
    detail = worst(clock).detail()
    client = Client()
    Bus(client, "bus").put([Event(detail["detailType"], detail)] * EVENTS_A_REQUEST)  # type: ignore[arg-type]

    (entries,) = client.requests
    assert len(entries) == EVENTS_A_REQUEST
    check("PutEvents", {"Entries": entries}, {})
