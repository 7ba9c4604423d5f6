"""Pages of the jobs of a queue, in one order over all its parts.

The order is that of the index: by its sort key ``ix``, then by the number of the part, then as the index
orders equal keys in a part. A page begins after the last row of the page before: in the part of
that row by an exclusive start key, in the others by a bound of ``ix``. So no row is skipped or repeated,
also where many rows have the same ``ix``, as long as no row changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fanin.queue.context import QueueContext
from fanin.queue.rules import order
from fanin.queue.rules.keys import JobKey
from fanin.queue.rules.model import Dead, Job, JobState
from fanin.queue.rules.order import IndexKey, IndexRange

T = TypeVar("T")
Record = tuple[int, str]
"""A dead job: the number of its part, and its sort key there."""
PREFIXES = {JobState.READY: order.READY, JobState.BUSY: order.BUSY, JobState.DELAYED: order.DELAYED}


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row of a list; *number*: of its part."""

    number: int
    key: IndexKey


@dataclass(frozen=True, slots=True)
class JobPage(Generic[T]):
    """A page of jobs, each with its row. *last*: the row after which the next page begins, if any."""

    jobs: Sequence[tuple[ListedRow, T]]
    last: ListedRow | None


Read = Callable[[int, IndexRange, int], Sequence[IndexKey]]
"""Returns the first rows of a part, by its number, in a range: at most so many."""


def jobs(context: QueueContext, state: JobState, limit: int, after: ListedRow | None) -> JobPage[Job]:
    """Return the jobs in a *state* after the row *after*: the first *limit*, less those that change now."""
    store, parts = context.store, context.parts()

    def read(number: int, within: IndexRange, most: int) -> Sequence[IndexKey]:
        return store.job_keys(parts[number], within, most)

    rows, last = _listed(context, read, len(parts), PREFIXES[state], limit, after)
    found = {job.key: job for job in store.jobs_at([JobKey(parts[row.number], row.key.sort) for row in rows])}
    whole = ((row, found.get(JobKey(parts[row.number], row.key.sort))) for row in rows)
    return JobPage([(row, job) for row, job in whole if job is not None and job.ix == row.key.ix], last)


def dead(context: QueueContext, limit: int, after: ListedRow | None) -> JobPage[Dead]:
    """Return the dead jobs after the row *after*, the longest dead first: *limit* of them."""
    store, parts = context.store, context.parts()

    def read(number: int, within: IndexRange, most: int) -> Sequence[IndexKey]:
        return store.dead_keys(parts[number], within, most)

    rows, last = _listed(context, read, len(parts), order.DEAD, limit, after)
    found = dead_at(context, [(row.number, row.key.sort) for row in rows])
    whole = ((row, found.get((row.number, row.key.sort))) for row in rows)
    return JobPage([(row, each) for row, each in whole if each is not None], last)


def dead_at(context: QueueContext, records: Sequence[Record]) -> dict[Record, Dead]:
    """Return those of the dead jobs *records* that exist."""
    parts = context.parts()
    known = [(number, sort) for number, sort in dict.fromkeys(records) if number < len(parts)]
    found = context.store.dead_at([(parts[number], sort) for number, sort in known])
    rows = zip(known, found, strict=True)
    return {record: each for record, each in rows if each is not None}


def range_of(prefix: str, number: int, after: ListedRow | None) -> IndexRange:
    """Return the range of the part *number* that follows the row *after*, among keys with *prefix*."""
    # No key is the prefix with its last character, a "#", replaced by the next one.
    high = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    if after is None:
        return IndexRange(prefix, high)
    if number == after.number:
        return IndexRange(after.key.ix, high, after.key.sort)
    return IndexRange(after.key.ix if number > after.number else after.key.ix + "\0", high)


def _listed(
    context: QueueContext, read: Read, parts: int, prefix: str, limit: int, after: ListedRow | None
) -> tuple[list[ListedRow], ListedRow | None]:
    """Return the first *limit* rows of all parts in one order, and the last one if there are more."""

    def rows_of(number: int) -> list[ListedRow]:
        keys = read(number, range_of(prefix, number, after), limit + 1)
        return [ListedRow(number, key) for key in keys]

    found = [row for rows in context.effects.each(rows_of, range(parts)) for row in rows]
    # The sort is stable: equal keys stay as their part has them.
    found.sort(key=lambda row: (row.key.ix, row.number))
    return found[:limit], found[limit - 1] if len(found) > limit else None
