"""The bodies of the answers about repairs of batches."""

from __future__ import annotations

from typing import Self

from fanin.api.answers.batch_answers import (
    Answer,
    CancelledBatch,
    GroupAnswer,
    Instant,
    Optional,
    RangeAnswer,
)
from fanin.api.cursors import list_cursors as cursors
from fanin.tracker.batch_changes.deleting import Deleted
from fanin.tracker.batch_changes.reopening import OriginSlice, whole_group
from fanin.tracker.rules.model import Batch, ItemRange, State
from fanin.tracker.rules.options import Mode


class ReopenedBatch(Answer):
    """A new batch with its items, which stand for items of *originBatchId*."""

    batch_id: str
    origin_batch_id: str
    state: State
    mode: Mode
    user_key: str | None
    total: int
    groups: list[GroupAnswer]
    created_at: Instant
    deadline_at: Instant | None = Optional
    expires_at: Instant

    @classmethod
    def of(cls, batch: Batch) -> Self:
        """Return *batch* as it was when it was reopened, so that a repeated request has the same answer."""
        groups = [GroupAnswer.like(whole_group(batch))]
        until = batch.created_at + batch.retention.closed
        return cls.like(batch, state=State.CLOSED, groups=groups, expires_at=until)


class PairAnswer(Answer):
    """Items of the origin, and as many of the reopened batch, each for the one in its position."""

    origin: RangeAnswer
    item: RangeAnswer


class OriginItems(Answer):
    """A page of pairs, in order: the first item of the reopened batch stands for the first of the origin."""

    origin_batch_id: str
    pairs: list[PairAnswer]
    cursor: str | None = Optional

    @classmethod
    def of(cls, batch: Batch, found: OriginSlice) -> Self:
        return cls(
            origin_batch_id=str(batch.origin_batch_id),
            pairs=_pairs(batch, found),
            cursor=cursors.of_pair(found.resume),
        )


class EndedBatch(CancelledBatch):
    """A batch whose end was forced, by this request or by an earlier one."""

    ended_by: str | None = Optional


class DeletedBatch(Answer):
    """A batch whose user data was removed."""

    batch_id: str


class DeletedBatches(Answer):
    """One part of a bulk delete: how many batches it removed.

    *unconfirmed*: batches that were left, because the bus has not confirmed their ending events yet. *more*:
    whether to repeat the request with *cursor*.
    """

    deleted: int
    unconfirmed: int
    more: bool
    cursor: str | None = Optional

    @classmethod
    def of(cls, part: Deleted) -> Self:
        return cls(
            deleted=part.count,
            unconfirmed=part.unconfirmed,
            more=part.resume is not None,
            cursor=cursors.of_batch(part.resume),
        )


def _pairs(batch: Batch, found: OriginSlice) -> list[PairAnswer]:
    """Return the pairs of a slice; each range of the origin has neighbours of the reopened batch."""
    group, rank, pairs = whole_group(batch).id, found.rank, []
    for part in found.ranges:
        last = rank + part.last - part.first
        mine = RangeAnswer.like(ItemRange(group, rank, last))
        pairs.append(PairAnswer(origin=RangeAnswer.like(part), item=mine))
        rank = last + 1
    return pairs
