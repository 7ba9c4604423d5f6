"""A batch is ended by force, with a reason and the name of the principal that asked for it."""

from __future__ import annotations

import logging

from fanin.tracker import State, Verdict
from tests.tracker.calls import ack, opened, verdicts


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
