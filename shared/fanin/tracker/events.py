"""What the ending of a batch is called, wherever it is told."""

from __future__ import annotations

from collections.abc import Mapping

from fanin.tracker.model import Batch, State

EVENT_TYPES: Mapping[State, str] = {
    State.COMPLETE: "BatchCompleted",
    State.CANCELLED: "BatchCancelled",
    State.TIMED_OUT: "BatchTimedOut",
    State.EXPIRED: "BatchExpired",
}


def event_id(batch: Batch) -> str:
    """Names the ending event of *batch*, the same however often it is sent."""
    return f"{batch.batch_id}:{batch.state}"
