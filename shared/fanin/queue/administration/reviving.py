"""Revives dead jobs by request, a bounded number of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fanin.queue.administration import paging
from fanin.queue.administration.listing import Listings
from fanin.queue.administration.paging import ListedRow, Record

REVIVED_A_REQUEST = 100
"""The most dead jobs that one request revives."""


class Revival(StrEnum):
    """The outcome of a request to revive a dead job; *live*: its key has a live job."""

    REVIVED = "revived"
    LIVE = "liveJob"
    NOT_FOUND = "notFound"


@dataclass(frozen=True, slots=True)
class RevivedJobs:
    """The outcome for each dead job; *last*: the row after which more can be revived, if any."""

    outcomes: dict[Record, Revival]
    last: ListedRow | None = None


def revive_some(queue: Listings, records: Sequence[Record]) -> RevivedJobs:
    """Revive the dead jobs *records*; repeatable: one that was revived before is not found."""
    found = paging.dead_at(queue.context, records)

    def revive(record: Record) -> Revival:
        if record not in found:
            return Revival.NOT_FOUND
        if queue.revive(found[record]):
            return Revival.REVIVED
        still_dead = paging.dead_at(queue.context, [record])
        return Revival.LIVE if still_dead else Revival.NOT_FOUND

    distinct = list(dict.fromkeys(records))
    outcomes = queue.context.effects.each(revive, distinct)
    return RevivedJobs(dict(zip(distinct, outcomes, strict=True)))


def revive_all(queue: Listings, after: ListedRow | None = None) -> RevivedJobs:
    """Revive the first 100 dead jobs after the row *after*, the longest dead first."""
    page = paging.dead(queue.context, REVIVED_A_REQUEST, after)
    revived = revive_some(queue, [(row.number, row.key.sort) for row, _ in page.jobs])
    return RevivedJobs(revived.outcomes, page.last)
