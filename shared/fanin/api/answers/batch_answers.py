"""The bodies of the answers, made from the tracker's values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from fanin.api.cursors import list_cursors as cursors
from fanin.api.requests.batch_requests import AckBody
from fanin.api.requests.option_types import options_answer
from fanin.instants import iso
from fanin.tracker.events import EVENT_TYPES, event_id
from fanin.tracker.reads.children import ChildPage
from fanin.tracker.reads.progress_tokens import ProgressToken
from fanin.tracker.reads.watching import Watched, pause_after
from fanin.tracker.rules.model import (
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
from fanin.tracker.rules.options import Mode
from fanin.tracker.store import Listing


def _absent(value: object) -> bool:
    return value is None


def _is_false(value: object) -> bool:
    return value is False


def _iso_text(at: object) -> object:
    return iso(at) if isinstance(at, datetime) else at


Instant = Annotated[str, BeforeValidator(_iso_text), Field(json_schema_extra={"format": "date-time"})]
Optional = Field(default=None, exclude_if=_absent)


class Answer(BaseModel):
    """The base of all answers."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, validate_by_name=True, hide_input_in_errors=True
    )

    @classmethod
    def like(cls, source: object, /, **more: Any) -> Self:
        """Return the answer of *source*'s attributes that are named like its fields, and of *more*."""
        same = {name: getattr(source, name) for name in cls.model_fields if hasattr(source, name)}
        return cls(**same | more)


class Health(Answer):
    """The service answers, and its table does."""

    status: Literal["ok"]


class OpenedBatch(Answer):
    """A new batch."""

    batch_id: str
    state: State
    mode: Mode
    user_key: str | None
    created_at: Instant
    expires_at: Instant

    @classmethod
    def of(cls, batch: Batch) -> Self:
        """Return *batch* as it was when it was opened, so that a repeated open has the same answer."""
        return cls.like(batch, state=State.OPEN, expires_at=batch.created_at + batch.retention.open)


class ProgressAnswer(Answer):
    """At least *acked* items are acked, at most *upperBound*; *exact* if the two are equal.

    *estimate*: how many they probably are, within two percent of the total.
    """

    acked: int
    failed: int
    estimate: int
    upper_bound: int
    exact: bool


class _Head(Answer):
    """The first fields of a batch."""

    batch_id: str
    user_key: str | None
    mode: Mode
    state: State
    is_closed: bool
    is_complete: bool
    result: str | None = Optional
    reached: Annotated[
        int | None, Field(description="The succeeded items, at least, that were `enough`.")
    ] = Optional
    reason: str | None = Optional
    total: int


_Shown: Any = options_answer(_Head)


class BatchSummary(_Shown):  # type: ignore[misc]  # made from the table of options
    """A batch in a list, without its progress.

    *failed*: its failed items. With `stuckAfterSeconds`, *ackedAt*: the time of the last ack, or up to an
    eighth of `stuckAfterSeconds` before it; *isStalled*: no ack came for so long.
    """

    failed: int
    acked_at: Instant | None = Optional
    is_stalled: bool = Field(default=False, exclude_if=_is_false)
    origin_batch_id: str | None = Optional
    cancels_children: bool = Field(default=False, exclude_if=_is_false)
    ended_by: str | None = Optional
    created_at: Instant
    deadline_at: Instant | None = Optional
    closed_at: Instant | None = Optional
    completed_at: Instant | None = Optional
    ended_at: Instant | None = Optional
    expires_at: Instant

    @classmethod
    def of(cls, batch: Batch, **more: Any) -> Self:
        """Return the answer of *batch*; *more*: fields that its row does not have."""
        answer: Self = cls.like(
            batch,
            is_closed=batch.state is not State.OPEN,
            is_complete=batch.state is State.COMPLETE,
            reason=batch.end_reason,
            **more,
        )
        return answer


class EndingAnswer(Answer):
    """The ending event of a batch. *confirmed*: whether the bus has it."""

    event_id: str
    type: str
    confirmed: bool


class BatchAnswer(BatchSummary):
    """A batch with its progress, unless that was not wanted, and its ending event, if it has ended.

    *retryAfterSeconds*: the pause until the next request for the progress of a live batch.
    """

    progress: ProgressAnswer | None = Optional
    retry_after_seconds: float | None = Optional
    event: EndingAnswer | None = Optional

    @classmethod
    def shown(cls, batch: Batch, progress: Progress | None, confirmed: bool, at: datetime) -> Self:
        """Return the answer of *batch*, *at* that time; *confirmed*: whether the bus has its ending event."""
        return cls.of(
            batch,
            progress=None if progress is None else ProgressAnswer.like(progress),
            retry_after_seconds=None if progress is None else pause_after(batch, progress, at, 0.0),
            event=None if batch.is_alive else _ending(batch, confirmed),
        )


class IssuedToken(Answer):
    """A progress token: its holder can read the progress of the batch until *expiresAt*."""

    batch_id: str
    token: str
    expires_at: Instant

    @classmethod
    def of(cls, token: ProgressToken) -> Self:
        return cls(batch_id=token.key.batch_id, token=str(token), expires_at=iso(token.expires_at))


class WatchedBatch(Answer):
    """A batch as a progress token shows it, without keys, labels, reasons and results.

    *retryAfterSeconds*: the pause until the next request; without it, the batch has ended, as *result* says.
    """

    batch_id: str
    state: State
    is_closed: bool
    is_complete: bool
    result: str | None = Optional
    total: int
    progress: ProgressAnswer
    ended_at: Instant | None = Optional
    retry_after_seconds: float | None = Optional

    @classmethod
    def of(cls, watched: Watched) -> Self:
        batch = watched.batch
        return cls.like(
            batch,
            is_closed=batch.state is not State.OPEN,
            is_complete=batch.state is State.COMPLETE,
            progress=ProgressAnswer.like(watched.progress),
            retry_after_seconds=watched.retry_after,
        )


def _ending(batch: Batch, confirmed: bool) -> EndingAnswer:
    return EndingAnswer(event_id=event_id(batch), type=EVENT_TYPES[batch.state], confirmed=confirmed)


class ListedBatches(Answer):
    """A page of batches, newest first. A page without batches may have a *cursor*, too."""

    batches: list[BatchSummary]
    cursor: str | None = Optional

    @classmethod
    def of(cls, listing: Listing) -> Self:
        batches = [BatchSummary.of(batch) for batch in listing.batches]
        return cls(batches=batches, cursor=cursors.of_batch(listing.resume))


class ListedChildren(Answer):
    """A page of the children of items. A page without batches may have a *cursor*, too."""

    batches: list[BatchSummary]
    cursor: str | None = Optional

    @classmethod
    def of(cls, page: ChildPage) -> Self:
        batches = [BatchSummary.of(batch) for batch in page.batches]
        return cls(batches=batches, cursor=cursors.of_item(page.resume))


class RangeAnswer(Answer):
    """The items *from* to *to*, both inclusive, of a group."""

    group_id: str
    first: Annotated[int, Field(alias="from")]
    last: Annotated[int, Field(alias="to")]


class ListedRanges(Answer):
    """A page of ranges."""

    ranges: list[RangeAnswer]
    cursor: str | None = Optional

    @classmethod
    def of(cls, found: Slice, **more: Any) -> Self:
        """Return the page of *found*; *more*: fields beside the ranges."""
        return cls.listed(found.ranges, cursor=cursors.of_item(found.resume), **more)

    @classmethod
    def listed(cls, ranges: Sequence[ItemRange], **more: Any) -> Self:
        """Return a page of *ranges*; *more*: fields beside them."""
        return cls(ranges=[RangeAnswer.like(items) for items in ranges], **more)


class OutstandingItems(ListedRanges):
    """A page of items that are not acked yet. A page without ranges may have a *cursor*, too."""


class SampleAnswer(Answer):
    """The reason of one failure."""

    item_id: str
    reason: str
    at: Instant


class FailedItems(ListedRanges):
    """A page of failed items. *samples*: at most 128 reasons of failures, on the first page of a
    list only."""

    samples: list[SampleAnswer]

    @classmethod
    def with_samples(cls, found: Slice, samples: Sequence[Sample]) -> Self:
        return cls.of(found, samples=[SampleAnswer.like(sample) for sample in samples])


class GroupAnswer(Answer):
    """Reserved items: `batchId:id:0` to `batchId:id:<upto - 1>`."""

    id: str
    upto: int


class AddedItems(Answer):
    """The items that an add reserved, and the total of the batch after it."""

    batch_id: str
    groups: list[GroupAnswer]
    total: int

    @classmethod
    def of(cls, added: Added) -> Self:
        return cls.like(added, groups=[GroupAnswer.like(group) for group in added.groups])


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
        complete = closed.batch.state is State.COMPLETE
        return cls.like(closed.batch, is_complete=complete, completed_by_you=closed.completed_by_caller)


class CancelledBatch(Answer):
    """A batch that is cancelled, by this request or by an earlier one.

    *cancelsChildren*: the live batches below it are cancelled, too.
    """

    batch_id: str
    user_key: str | None
    state: State
    total: int
    result: str | None
    reason: str | None = Optional
    ended_at: Instant | None = Optional
    cancels_children: bool = Field(default=False, exclude_if=_is_false)

    @classmethod
    def of(cls, batch: Batch) -> Self:
        return cls.like(batch, reason=batch.end_reason)


class NotifiedBatch(Answer):
    """A batch whose ending event is sent again, with the same *eventId*."""

    batch_id: str
    state: State
    event_id: str

    @classmethod
    def of(cls, batch: Batch) -> Self:
        return cls.like(batch, event_id=event_id(batch))


class ItemResult(Answer):
    """The verdict of one item."""

    item_id: str
    verdict: Verdict


class RangeResult(Answer):
    """The items of a range: the number of items with each verdict."""

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
        return cls.like(completion.batch, completed_by_you=completion.caller == caller)


class AckedItems(Answer):
    """A result for each ack entry, in the order of the request, and the batches that it completed."""

    results: list[ItemResult | RangeResult]
    completions: list[CompletionAnswer]

    @classmethod
    def of(cls, entries: Sequence[AckBody], report: AckReport, caller: str) -> Self:
        pairs = zip(entries, report.results, strict=True)
        completed = {completion.batch.batch_id: completion for completion in report.completions}
        return cls(
            results=[_result(entry, result) for entry, result in pairs],
            completions=[CompletionAnswer.of(completion, caller) for completion in completed.values()],
        )


def _result(entry: AckBody, result: Result) -> ItemResult | RangeResult:
    if entry.item_id is not None:
        return ItemResult(item_id=entry.item_id, verdict=result.verdict)
    return RangeResult.like(result.ack, counts=dict(result.counts))
