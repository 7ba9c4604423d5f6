"""What the bus hears of a batch, read back from the rows that the tracker writes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fanin.api.events import completions
from fanin.api.instants import iso, iso_of_millis
from fanin.tracker import Batch, OpenBatch, Tracker
from fanin.tracker.items import batch_item
from fanin.tracker.memory import MemoryStore
from fanin.tracker.requests import complete
from functions import describe_event

START = datetime(2026, 1, 31, 23, 59, 59, 999_500, UTC)


@pytest.fixture
def finished() -> Batch:
    """A batch of nothing: opened, closed and completed a second apart."""
    times = (START + timedelta(seconds=n) for n in range(100))
    tracker = Tracker(MemoryStore(), now=lambda: next(times))
    batch = tracker.open("111122223333", OpenBatch(user_key='"}],"x\n'))
    return tracker.close("111122223333", batch.batch_id, "a test").batch


def _record(batch: Batch, **changes: Any) -> dict[str, Any]:
    """The stream record of the row as the DynamoDB store writes it."""
    at = {"closedAt": batch.closed_at, "completedAt": batch.completed_at}
    turned = complete("Batches", batch.key, "x", batch.expires_at, batch.expires_at)
    event_id = turned["ExpressionAttributeValues"][":eventId"]
    times = {name: {"N": str(int(time.timestamp() * 1000))} for name, time in at.items() if time}
    image = {**batch_item(batch), **times, "eventId": event_id, **changes}
    return {"eventName": "MODIFY", "dynamodb": {"NewImage": image}}


def test_a_complete_batch_is_told_in_full(finished: Batch) -> None:
    (detail,) = describe_event.handler([_record(finished)], None)

    assert detail == {
        "eventId": f"{finished.batch_id}:COMPLETE",
        "batchId": finished.batch_id,
        "userKey": '"}],"x\n',
        "result": "succeeded",
        "total": 0,
        "failed": 0,
        "openedAt": iso(finished.created_at),
        "closedAt": iso(finished.closed_at or START),
        "completedAt": iso(finished.completed_at or START),
    }


def test_failures_are_told(finished: Batch) -> None:
    (detail,) = completions([_record(finished, failed={"N": "2"})])

    assert (detail["result"], detail["failed"]) == ("completed_with_failures", 2)


def test_a_batch_without_a_user_key_says_null(finished: Batch) -> None:
    record = _record(finished)
    del record["dynamodb"]["NewImage"]["userKey"]

    assert completions([record])[0]["userKey"] is None


def test_details_come_in_the_order_of_the_records(finished: Batch) -> None:
    records = [_record(finished, eventId={"S": str(number)}) for number in range(10)]

    assert [detail["eventId"] for detail in completions(records)] == [str(number) for number in range(10)]


@pytest.mark.parametrize("state", ["OPEN", "CLOSED", "CANCELLED", ""])
def test_a_record_of_another_state_is_passed_over(finished: Batch, state: str) -> None:
    assert completions([_record(finished, state={"S": state})]) == []


@pytest.mark.parametrize("row", ["group#0000000000000", "add#x"])
def test_a_record_of_another_row_is_passed_over(finished: Batch, row: str) -> None:
    assert completions([_record(finished, sk={"S": row})]) == []


def test_a_deletion_is_passed_over() -> None:
    assert completions([{"eventName": "REMOVE", "dynamodb": {"OldImage": {}}}]) == []


def test_no_records_make_no_events() -> None:
    assert completions([]) == []


def test_instants_are_utc_with_milliseconds_cut_off() -> None:
    assert iso(START) == "2026-01-31T23:59:59.999Z"
    assert iso(START.astimezone(datetime.now().astimezone().tzinfo)) == "2026-01-31T23:59:59.999Z"
    assert iso_of_millis(1_769_903_999_007) == "2026-01-31T23:59:59.007Z"
