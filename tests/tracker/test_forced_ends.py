"""A batch is ended by force, with a reason and the name of the principal that asked for it."""

from __future__ import annotations

import logging

import pytest

from fanin.api.events.ending_events import endings
from fanin.errors import BatchEnded, NotFound
from fanin.tracker import State, Verdict
from tests.tracker.calls import ack, fail, opened, verdicts


def test_a_forced_end_is_not_a_completion_and_says_who_and_why(tracker, caplog):
    batch_id, group = opened(tracker, 5)
    ack(tracker, batch_id, group, 0)
    with caplog.at_level(logging.WARNING, "fanin"):
        batch = tracker.end("t", batch_id, "stuck since noon", "a person")

    assert (batch.state, batch.result) == (State.FAILED, "forced")
    assert (batch.ended_by, batch.end_reason, batch.completed_at) == ("a person", "stuck since noon", None)
    assert verdicts(ack(tracker, batch_id, group, 0, 1)) == [Verdict.DUPLICATE, Verdict.LATE]
    (line,) = caplog.records
    assert (line.batch_id, line.by) == (batch_id, "a person")
    assert "noon" not in line.getMessage()


def test_its_event_has_both(tracker):
    batch_id, _ = opened(tracker, 5)
    tracker.end("t", batch_id, "stuck", "a person")
    (detail,) = endings([record(batch_id)], tracker)

    assert detail["detailType"] == "BatchFailed"
    assert (detail["result"], detail["reason"], detail["endedBy"]) == ("forced", "stuck", "a person")
    assert (detail["acked"], detail["outstanding"], detail["eventId"]) == (0, 5, f"{batch_id}:FAILED")


def record(batch_id):
    return {"dynamodb": {"Keys": {"pk": {"S": f"t#{batch_id}"}, "sk": {"S": "batch"}}}}


def test_an_event_names_no_principal_where_none_forced_the_end(tracker):
    batch_id, _ = opened(tracker, 5)
    tracker.cancel("t", batch_id)
    (detail,) = endings([record(batch_id)], tracker)

    assert "endedBy" not in detail
    assert "originBatchId" not in detail


def test_a_batch_that_has_ended_keeps_its_end(tracker, caplog):
    batch_id, group = opened(tracker, 3, max_failures=1)
    fail(tracker, batch_id, group, 0)
    forced, _ = opened(tracker, 3)
    tracker.end("t", forced, "first", "one")
    caplog.clear()
    with caplog.at_level(logging.WARNING, "fanin"):
        with pytest.raises(BatchEnded, match="too_many_failures"):
            tracker.end("t", batch_id, "second", "two")
        again = tracker.end("t", forced, "second", "two")

    assert tracker.get("t", batch_id).ended_by is None
    assert (again.result, again.ended_by, again.end_reason) == ("forced", "one", "first")
    assert not caplog.records


def test_the_item_of_its_parent_fails(tracker):
    parent, group = opened(tracker, 2)
    child, _ = opened(tracker, 1, parent_item_id=f"{parent}:{group}:0")
    tracker.end("t", child, "stuck", "a person")
    batch = tracker.get("t", parent)

    assert batch.failed == 1
    assert [sample.reason for sample in tracker.samples(batch)] == [f"batch {child} forced"]


def test_a_batch_that_is_not_there_is_not_found(tracker):
    with pytest.raises(NotFound):
        tracker.end("t", "00000000-0000-4000-8000-00000000dead", "stuck", "a person")
