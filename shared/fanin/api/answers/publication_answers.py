"""The answer about a publication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from fanin.api.answers.batch_answers import Answer, Instant, Optional
from fanin.tracker.rules.model import Batch, State

if TYPE_CHECKING:
    from fanin.s3_publications.model import Position


class PublicationAnswer(Answer):
    """How far the publication of the batch *batchId* is: *readBytes* of *sizeBytes*, which were *rows* rows.

    *sizeBytes*: once the object was found. *isPublished*: all rows were sent, and the batch is closed.
    *reason*: why it stopped.
    """

    batch_id: str
    source: str | None
    user_key: str | None
    state: State
    is_published: bool
    rows: int
    read_bytes: int
    size_bytes: int | None = Optional
    reason: str | None = Optional
    created_at: Instant

    @classmethod
    def of(cls, batch: Batch, position: Position) -> Self:
        """Return the answer about *batch*, published up to *position*."""
        return cls.like(
            batch,
            source=batch.labels.get("source"),
            is_published=position.is_end and batch.state is not State.OPEN,
            rows=position.rows,
            read_bytes=position.read,
            size_bytes=position.size if position.etag else None,
            reason=batch.end_reason,
        )
