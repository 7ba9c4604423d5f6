"""The bodies that callers get, made from the tracker's values and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from fanin.api import cursors
from fanin.api.instants import iso
from fanin.api.requests import AckBody
from fanin.tracker.events import event_id
from fanin.tracker.model import (
    AckReport,
    Added,
    Batch,
    Closed,
    Completion,
    ItemRange,
    Progress,
    Result,
    Sample,
    Slice,
    State,
    Verdict,
)
from fanin.tracker.store import Listing


def _absent(value: object) -> bool:
    return value is None


Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Optional = Field(default=None, exclude_if=_absent)


class Answer(BaseModel):
    """What all answers share."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, validate_by_name=True, hide_input_in_errors=True
    )


class OpenedBatch(Answer):
    """A new batch."""

    batch_id: str
    state: State
    mode: str
    user_key: str | None
    created_at: Instant
    expires_at: Instant

    @classmethod
    def of(cls, batch: Batch) -> Self:
        """As it was when it was opened: a repeated open is answered like the first."""
        return cls(
            batch_id=batch.batch_id,
            state=State.OPEN,
            mode=batch.mode,
            user_key=batch.user_key,
            created_at=iso(batch.created_at),
            expires_at=iso(batch.created_at + batch.retention.open),
        )


class ProgressAnswer(Answer):
    """At least *acked* items are done, at most *upperBound*; *exact* where the two meet."""

    acked: int
    failed: int
    upper_bound: int
    exact: bool

    @classmethod
    def of(cls, progress: Progress) -> Self:
        return cls(
            acked=progress.acked,
            failed=progress.failed,
            upper_bound=progress.upper_bound,
            exact=progress.exact,
        )


class BatchSummary(Answer):
    """A batch as lists show it: all that can be said without counting."""

    batch_id: str
    user_key: str | None
    mode: str
    state: State
    is_closed: bool
    is_complete: bool
    result: str | None = Optional
    reason: str | None = Optional
    total: int
    expected_items: int | None = Optional
    max_failures: int | None = Optional
    parent_item_id: str | None = Optional
    created_at: Instant
    deadline_at: Instant | None = Optional
    closed_at: Instant | None = Optional
    completed_at: Instant | None = Optional
    ended_at: Instant | None = Optional
    expires_at: Instant

    @classmethod
    def of(cls, batch: Batch) -> Self:
        return cls(**_facts(batch))


class BatchAnswer(BatchSummary):
    """A batch as it stands."""

    progress: ProgressAnswer

    @classmethod
    def with_progress(cls, batch: Batch, progress: Progress) -> Self:
        return cls(**_facts(batch), progress=ProgressAnswer.of(progress))


class ListedBatches(Answer):
    """Batches, newest first, and where to go on; a page may be short, or empty, and not be the last."""

    batches: list[BatchSummary]
    cursor: str | None = Optional

    @classmethod
    def of(cls, listing: Listing) -> Self:
        batches = [BatchSummary.of(batch) for batch in listing.batches]
        return cls(batches=batches, cursor=cursors.of_place(listing.resume))


class RangeAnswer(Answer):
    """The items *from* to *to*, both inclusive, of a group."""

    group_id: str
    first: Annotated[int, Field(alias="from")]
    last: Annotated[int, Field(alias="to")]

    @classmethod
    def of(cls, items: ItemRange) -> Self:
        return cls(group_id=items.group_id, first=items.first, last=items.last)


class OutstandingItems(Answer):
    """What is not acked yet, and where to go on; a page may be short, or empty, and not be the last."""

    ranges: list[RangeAnswer]
    cursor: str | None = Optional

    @classmethod
    def of(cls, found: Slice) -> Self:
        ranges = [RangeAnswer.of(items) for items in found.ranges]
        return cls(ranges=ranges, cursor=cursors.of_item(found.resume))


class SampleAnswer(Answer):
    """One failure, in words."""

    item_id: str
    reason: str
    at: Instant

    @classmethod
    def of(cls, sample: Sample) -> Self:
        return cls(item_id=sample.item_id, reason=sample.reason, at=iso(sample.at))


class FailedItems(Answer):
    """What failed, and where to go on. *samples*: at most 128 reasons, on the first page."""

    ranges: list[RangeAnswer]
    samples: list[SampleAnswer]
    cursor: str | None = Optional

    @classmethod
    def of(cls, found: Slice, samples: Sequence[Sample]) -> Self:
        ranges = [RangeAnswer.of(items) for items in found.ranges]
        told = [SampleAnswer.of(sample) for sample in samples]
        return cls(ranges=ranges, samples=told, cursor=cursors.of_item(found.resume))


class GroupAnswer(Answer):
    """A reservation: its items are `batchId:id:0` to `batchId:id:<upto - 1>`."""

    id: str
    upto: int


class AddedItems(Answer):
    """What an add reserved, and the batch's total after it."""

    batch_id: str
    groups: list[GroupAnswer]
    total: int

    @classmethod
    def of(cls, added: Added) -> Self:
        groups = [GroupAnswer(id=group.id, upto=group.upto) for group in added.groups]
        return cls(batch_id=added.batch_id, groups=groups, total=added.total)


class ClosedBatch(Answer):
    """A batch whose total is final."""

    batch_id: str
    user_key: str | None
    state: State
    total: int
    is_complete: bool
    completed_by_you: bool

    @classmethod
    def of(cls, closed: Closed) -> Self:
        batch = closed.batch
        return cls(
            batch_id=batch.batch_id,
            user_key=batch.user_key,
            state=batch.state,
            total=batch.total,
            is_complete=batch.state is State.COMPLETE,
            completed_by_you=closed.completed_by_caller,
        )


class CancelledBatch(Answer):
    """A batch that has ended: cancelled, unless it had ended otherwise before."""

    batch_id: str
    user_key: str | None
    state: State
    total: int
    result: str | None
    reason: str | None = Optional
    ended_at: Instant | None = Optional

    @classmethod
    def of(cls, batch: Batch) -> Self:
        return cls(
            batch_id=batch.batch_id,
            user_key=batch.user_key,
            state=batch.state,
            total=batch.total,
            result=batch.result,
            reason=batch.end_reason,
            ended_at=_iso_or_none(batch.ended_at),
        )


class NotifiedBatch(Answer):
    """A batch whose ending event is sent again, under the id that it had."""

    batch_id: str
    state: State
    event_id: str

    @classmethod
    def of(cls, batch: Batch) -> Self:
        return cls(batch_id=batch.batch_id, state=batch.state, event_id=event_id(batch))


class ItemResult(Answer):
    """What became of one item."""

    item_id: str
    verdict: Verdict


class RangeResult(Answer):
    """What became of the items of a range: how many got each verdict."""

    batch_id: str
    group_id: str
    first: Annotated[int, Field(alias="from")]
    last: Annotated[int, Field(alias="to")]
    counts: dict[Verdict, int]


class CompletionAnswer(Answer):
    """A batch that this caller completed."""

    batch_id: str
    user_key: str | None
    result: str | None
    completed_by_you: bool

    @classmethod
    def of(cls, completion: Completion, caller: str) -> Self:
        return cls(
            batch_id=completion.batch.batch_id,
            user_key=completion.batch.user_key,
            result=completion.batch.result,
            completed_by_you=completion.caller == caller,
        )


class AckedItems(Answer):
    """A result for each word, in the caller's order, and the batches that this caller completed."""

    results: list[ItemResult | RangeResult]
    completions: list[CompletionAnswer]

    @classmethod
    def of(cls, words: Sequence[AckBody], report: AckReport, caller: str) -> Self:
        pairs = zip(words, report.results, strict=True)
        completed = {done.batch.batch_id: done for done in report.completions}
        return cls(
            results=[_result(word, result) for word, result in pairs],
            completions=[CompletionAnswer.of(done, caller) for done in completed.values()],
        )


def _result(word: AckBody, result: Result) -> ItemResult | RangeResult:
    if word.item_id is not None:
        return ItemResult(item_id=word.item_id, verdict=result.verdict)
    ack = result.ack
    return RangeResult(
        batch_id=ack.batch_id,
        group_id=ack.group_id,
        first=ack.first,
        last=ack.last,
        counts=dict(result.counts),
    )


def _facts(batch: Batch) -> dict[str, Any]:
    """What a batch's row says of it."""
    return {
        "batch_id": batch.batch_id,
        "user_key": batch.user_key,
        "mode": batch.mode,
        "state": batch.state,
        "is_closed": batch.state is not State.OPEN,
        "is_complete": batch.state is State.COMPLETE,
        "result": batch.result,
        "reason": batch.end_reason,
        "total": batch.total,
        "expected_items": batch.expected_items,
        "max_failures": batch.max_failures,
        "parent_item_id": batch.parent_item_id,
        "created_at": iso(batch.created_at),
        "deadline_at": _iso_or_none(batch.deadline_at),
        "closed_at": _iso_or_none(batch.closed_at),
        "completed_at": _iso_or_none(batch.completed_at),
        "ended_at": _iso_or_none(batch.ended_at),
        "expires_at": iso(batch.expires_at),
    }


def _iso_or_none(at: datetime | None) -> str | None:
    return None if at is None else iso(at)
