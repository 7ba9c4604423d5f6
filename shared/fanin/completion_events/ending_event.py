"""The ending event as it is on the bus: the one model of its detail, from which its JSON schema is made.

It needs no pydantic, because the function that makes the events starts without it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from fanin.errors import StoreUnavailable
from fanin.instants import iso
from fanin.names import camel
from fanin.tracker import Batch, ItemRange, Mode, Tracker
from fanin.tracker.events import ONLY_SOME, CompletionEvent, is_optional
from fanin.tracker.rules.model import Manifest, Progress, Slice
from fanin.user_functions import log_failure

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

logger = logging.getLogger("fanin")
RANGES_IN_EVENT = 100
"""Outstanding ranges in an event; the route ``outstanding`` lists all."""
MANIFEST_AWAITED = timedelta(minutes=5)
"""How long after its end an event waits for a bucket that gives no answer: other events wait behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingEvent(CompletionEvent):
    """How a batch ended, and how far it was.

    At least *acked* of its *total* items are acked, at most *upper_bound*; *exact* if the two are equal.
    *outstanding*: the others, so many at the most. *ranges*: the first of them; *more_ranges*: whether there
    are more. An estimated batch has no ranges. *resumes*: true where a Step Functions task or a durable
    function waits for the end. *results*: the parts of the results that the batch keeps; absent where the
    bucket does not answer.
    """

    acked: int
    upper_bound: int
    exact: bool
    outstanding: int
    ranges: tuple[ItemRange, ...]
    more_ranges: bool
    resumes: bool | None = field(default=None, metadata=ONLY_SOME)
    results: Manifest | None = field(default=None, metadata=ONLY_SOME)

    @classmethod
    def ended(cls, batch: Batch, tracker: Tracker) -> Self:
        """Return the event of *batch*, which has ended, with what is stored of its items now."""
        progress, outstanding = tracker.progress(batch), Slice((), None)
        if batch.mode is Mode.EXACT and progress.acked < batch.total:
            outstanding = tracker.outstanding(batch, 0, RANGES_IN_EVENT)
            progress = _counted(batch, progress, outstanding)
        return cls(
            **cls.facts(batch),
            acked=progress.acked,
            upper_bound=progress.upper_bound,
            exact=progress.exact,
            outstanding=batch.total - progress.acked,
            ranges=outstanding.ranges,
            more_ranges=outstanding.resume is not None,
            resumes=batch.resumes or None,
            results=_manifest(batch, tracker),
        )

    def detail(self) -> dict[str, Any]:
        """Return the event as JSON has it; a field that only some events have is absent from the others."""
        detail = detail_of(self)
        return {**detail.pop("options"), **detail}


def detail_of(event: DataclassInstance) -> dict[str, Any]:
    """Return the fields of *event* as JSON has them; absent fields are left out."""
    known = {fact: getattr(event, fact.name) for fact in fields(event)}
    shown = {fact: value for fact, value in known.items() if value is not None or not is_optional(fact)}
    return {camel(fact.name): _value(value) for fact, value in shown.items()}


def _manifest(batch: Batch, tracker: Tracker) -> Manifest | None:
    """Return the manifest of the results; None where the bucket is gone or refuses, which is logged.

    The event comes all the same: the first reader of the results writes the manifest. Raises
    StoreUnavailable, in the first minutes, where the bucket gives no answer.
    """
    try:
        return tracker.manifest(batch)
    except Exception as error:
        is_awaited = batch.ended_at is not None and tracker.now() - batch.ended_at < MANIFEST_AWAITED
        if isinstance(error, StoreUnavailable) and is_awaited:
            raise
        log_failure(logger, "the event of batch %s does not name its results", batch.batch_id, error=error)
        return None


def _counted(batch: Batch, progress: Progress, outstanding: Slice) -> Progress:
    """Return the progress that follows from *outstanding*, if that is the whole list, else *progress*."""
    if outstanding.resume is not None:
        return progress
    acked = batch.total - sum(items.last - items.first + 1 for items in outstanding.ranges)
    return Progress(acked, progress.failed, acked, acked, exact=True)


def _value(fact: Any) -> Any:
    """Return *fact* as JSON has it: a time as text, ranges as objects, all else as it is."""
    if isinstance(fact, Manifest):
        return {"manifest": fact.name, "parts": fact.parts, "bytes": fact.size}
    if isinstance(fact, tuple):
        return [{"groupId": items.group_id, "from": items.first, "to": items.last} for items in fact]
    return iso(fact) if isinstance(fact, datetime) else fact
