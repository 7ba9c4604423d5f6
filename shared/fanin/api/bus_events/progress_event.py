"""The event of a threshold that a batch has reached: ``BatchProgress``, with the progress at that time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fanin import names
from fanin.completion_events.ending_event import detail_of
from fanin.tracker import Batch
from fanin.tracker.events import ONLY_SOME
from fanin.tracker.rules.thresholds import Reached


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """A *threshold* that a batch had reached at *reached_at*; the same facts each time it is sent.

    *stall*: which stall of the batch it is, from 1, if the threshold is ``stuck``. *acked*, *upper_bound*,
    *exact*: as in the ending event; a percentage is of *acked*. *estimate*: how many items probably are.
    """

    event_id: str
    detail_type: str = names.BATCH_PROGRESS
    tenant: str
    batch_id: str
    user_key: str | None
    threshold: str
    stall: int | None = field(default=None, metadata=ONLY_SOME)
    reached_at: datetime
    total: int
    failed: int
    acked: int
    estimate: int
    upper_bound: int
    exact: bool
    opened_at: datetime
    labels: Mapping[str, str]
    callback: str | None = field(default=None, metadata=ONLY_SOME)

    @classmethod
    def of(cls, batch: Batch, reached: Reached) -> ProgressEvent:
        """Return the event of *reached*, a threshold of *batch*."""
        progress = reached.progress
        return cls(
            event_id=f"{batch.batch_id}:{reached.mark}",
            tenant=batch.tenant,
            batch_id=batch.batch_id,
            user_key=batch.user_key,
            threshold=str(reached.threshold),
            stall=reached.stall or None,
            reached_at=reached.at,
            total=reached.total,
            failed=progress.failed,
            acked=progress.acked,
            estimate=progress.estimate,
            upper_bound=progress.upper_bound,
            exact=progress.exact,
            opened_at=batch.created_at,
            labels=batch.labels,
            callback=batch.callback,
        )

    def detail(self) -> dict[str, Any]:
        """Return the event as JSON has it."""
        return detail_of(self)
