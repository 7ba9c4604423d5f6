"""The events of thresholds are made from their notices, and are no endings."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from fanin.api.bus_events.ending_events import confirm, ended_states, endings
from fanin.instants import iso
from fanin.tracker import Ack, BatchKey, Outcome, Tracker
from fanin.tracker.dynamodb.thresholds import notice_item
from fanin.tracker.memory import MemoryStore
from tests.api.conftest import TENANT
from tests.api.test_events import opened
from tests.tracker.calls import START, Clock


def noticed(tracker: Tracker, clock: Clock, **options: Any) -> tuple[str, list[dict[str, Any]]]:
    """A batch with seven of ten items acked, and the stream records of the thresholds of a sweep."""
    batch_id, group = opened(tracker, **options)
    tracker.close(TENANT, batch_id, "c")
    tracker.ack(TENANT, [Ack(batch_id, group, 0, 5, "c")])
    tracker.ack(TENANT, [Ack(batch_id, group, 6, 6, "c", Outcome.FAILURE)])
    clock.at += timedelta(minutes=1)
    assert tracker.sweep().failed == 0
    stored = tracker.store.get(BatchKey(TENANT, batch_id))
    assert stored is not None
    assert isinstance(tracker.store, MemoryStore)
    items = [notice_item(stored, reached) for reached in tracker.store.reports.values()]
    keys = [{name: item[name] for name in ("pk", "sk")} for item in items]
    return batch_id, [
        {"eventName": "INSERT", "dynamodb": {"Keys": key, "NewImage": item}}
        for key, item in zip(keys, items, strict=True)
    ]


def test_the_event_of_a_threshold_has_the_progress_at_that_time(tracker: Tracker, clock: Clock) -> None:
    batch_id, (record,) = noticed(
        tracker, clock, notify_at=("50%",), callback="orders", user_key="mine", labels={"a": "b"}
    )
    at = clock.at
    tracker.cancel(TENANT, batch_id)
    (detail,) = endings([record], tracker)

    assert detail == {
        "eventId": f"{batch_id}:50",
        "detailType": "BatchProgress",
        "tenant": TENANT,
        "batchId": batch_id,
        "userKey": "mine",
        "threshold": "50%",
        "reachedAt": iso(at),
        "total": 10,
        "failed": 1,
        "acked": 7,
        "estimate": 7,
        "upperBound": 7,
        "exact": True,
        "openedAt": iso(START),
        "labels": {"a": "b"},
        "callback": "orders",
    }


def test_a_threshold_is_neither_an_ending_nor_confirmed_as_one(tracker: Tracker, clock: Clock) -> None:
    batch_id, records = noticed(tracker, clock, notify_at=("50%", "firstFailure"))
    details = endings(records, tracker)

    assert len(details) == 2
    assert ended_states(records) == []
    assert [confirm(detail, tracker) for detail in details] == [False, False]
    tracker.cancel(TENANT, batch_id)
    assert [confirm(detail, tracker) for detail in details] == [False, False]
    assert not tracker.store.is_confirmed(BatchKey(TENANT, batch_id))


def test_the_event_of_each_threshold_fits_the_published_schema(tracker: Tracker, clock: Clock) -> None:
    schema = json.loads((Path(__file__).parents[2] / "docs" / "events.schema.json").read_text())
    part = {"$ref": "#/$defs/BatchProgress", "$defs": schema["$defs"]}
    _, records = noticed(tracker, clock, notify_at=("50%", "firstFailure"), callback="a")
    details = endings(records, tracker)

    assert len(details) == 2
    for detail in details:
        Draft202012Validator({**part, "unevaluatedProperties": False}).validate(detail)
