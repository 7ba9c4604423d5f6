"""The bodies that callers get, made from the tracker's values and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from fanin.api.instants import iso
from fanin.api.requests import AckBody
from fanin.tracker.model import AckReport, Added, Batch, Closed, Completion, Progress, Result, State, Verdict


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


class BatchAnswer(Answer):
    """A batch as it stands."""

    batch_id: str
    user_key: str | None
    mode: str
    state: State
    is_closed: bool
    is_complete: bool
    result: str | None = Optional
    total: int
    progress: ProgressAnswer
    created_at: Instant
    closed_at: Instant | None = Optional
    completed_at: Instant | None = Optional
    expires_at: Instant

    @classmethod
    def of(cls, batch: Batch, progress: Progress) -> Self:
        return cls(
            batch_id=batch.batch_id,
            user_key=batch.user_key,
            mode=batch.mode,
            state=batch.state,
            is_closed=batch.state is not State.OPEN,
            is_complete=batch.state is State.COMPLETE,
            result=batch.result,
            total=batch.total,
            progress=ProgressAnswer.of(progress),
            created_at=iso(batch.created_at),
            closed_at=_iso_or_none(batch.closed_at),
            completed_at=_iso_or_none(batch.completed_at),
            expires_at=iso(batch.expires_at),
        )


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


def _iso_or_none(at: datetime | None) -> str | None:
    return None if at is None else iso(at)
