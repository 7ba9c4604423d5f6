"""The ending event of a batch: its type, its id, and its facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field
from datetime import datetime
from typing import Any

from fanin import names
from fanin.tracker.rules.model import Batch, State
from fanin.tracker.rules.options import IN_EVENT

EVENT_TYPES: Mapping[State, str] = {
    State.COMPLETE: names.BATCH_COMPLETED,
    State.FAILED: names.BATCH_FAILED,
    State.CANCELLED: names.BATCH_CANCELLED,
    State.TIMED_OUT: names.BATCH_TIMED_OUT,
    State.EXPIRED: names.BATCH_EXPIRED,
}


def event_id(batch: Batch) -> str:
    """Return the id of the ending event of *batch*, the same each time the event is sent."""
    return f"{batch.batch_id}:{batch.state}"


ONLY_SOME = {"only some": True}
"""The metadata of a field that is absent from the events whose batch has no such value."""


def is_optional(fact: Field[Any]) -> bool:
    """Return whether the field *fact* is absent from an event where its value is None."""
    return fact.metadata == ONLY_SOME


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionEvent:
    """How a batch ended, by its row: what the event on the bus and the data source's stream report.

    *options*: those of the batch that were given, by the names that they have beside the fields.
    """

    event_id: str
    detail_type: str
    tenant: str
    batch_id: str
    user_key: str | None
    result: str | None
    reason: str | None
    total: int
    failed: int
    opened_at: datetime
    closed_at: datetime | None
    completed_at: datetime | None
    ended_at: datetime | None
    labels: Mapping[str, str]
    callback: str | None = field(default=None, metadata=ONLY_SOME)
    ended_by: str | None = field(default=None, metadata=ONLY_SOME)
    origin_batch_id: str | None = field(default=None, metadata=ONLY_SOME)
    reached: int | None = field(default=None, metadata=ONLY_SOME)
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: Batch) -> CompletionEvent:
        """Return the event of *batch*, which has ended."""
        return CompletionEvent(**cls.facts(batch))

    @staticmethod
    def facts(batch: Batch) -> dict[str, Any]:
        """Return the fields that the row of *batch* has."""
        return dict(
            event_id=event_id(batch),
            detail_type=EVENT_TYPES[batch.state],
            tenant=batch.tenant,
            batch_id=batch.batch_id,
            user_key=batch.user_key,
            result=batch.result,
            reason=batch.end_reason,
            total=batch.total,
            failed=batch.failed,
            opened_at=batch.created_at,
            closed_at=batch.closed_at,
            completed_at=batch.completed_at,
            ended_at=batch.ended_at,
            labels=batch.labels,
            callback=batch.callback,
            ended_by=batch.ended_by,
            origin_batch_id=batch.origin_batch_id,
            reached=batch.reached,
            options={
                each.field: given for each in IN_EVENT if (given := getattr(batch, each.name)) is not None
            },
        )
