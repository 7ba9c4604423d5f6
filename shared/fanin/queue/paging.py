"""Pages of the jobs of a queue, in one order over all its partitions.

The order is that of the index: by its sort key ``ix``, then by the number of the partition, then as the index
orders equal keys in a partition. A page begins after the last row of the page before: in the partition of
that row by an exclusive start key, in the others by a bound of ``ix``. So no row is skipped or repeated,
also where many rows have the same ``ix``, as long as no row changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fanin.queue import order
from fanin.queue.context import QueueContext
from fanin.queue.keys import JobKey
from fanin.queue.model import Dead, Job, JobState
from fanin.queue.order import IndexKey, IndexRange

T = TypeVar("T")
Record = tuple[int, str]
"""A dead job: the number of its partition among ``QueueContext.partitions``, and its sort key there."""
PREFIXES = {JobState.READY: order.READY, JobState.BUSY: order.BUSY, JobState.DELAYED: order.DELAYED}


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row of a list; *number*: of its partition, among those that are listed."""

    number: int
    key: IndexKey


@dataclass(frozen=True, slots=True)
class JobPage(Generic[T]):
    """A page of jobs, each with its row. *last*: the row after which the next page begins, if any."""

    jobs: Sequence[tuple[ListedRow, T]]
    last: ListedRow | None


Read = Callable[[int, IndexRange, int], Sequence[IndexKey]]
"""Returns the first rows of a partition, by its number, in a range: at most so many."""


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
    store, partitions = context.store, context.partitions()

    def read(number: int, within: IndexRange, most: int) -> Sequence[IndexKey]:
        return store.dead_keys(partitions[number], within, most)

    rows, last = _listed(context, read, len(partitions), order.DEAD, limit, after)
    found = dead_at(context, [(row.number, row.key.sort) for row in rows])
    whole = ((row, found.get((row.number, row.key.sort))) for row in rows)
    return JobPage([(row, each) for row, each in whole if each is not None], last)


def dead_at(context: QueueContext, records: Sequence[Record]) -> dict[Record, Dead]:
    """Return those of the dead jobs *records* that exist."""
    store, partitions = context.store, context.partitions()
    known = [(number, sort) for number, sort in dict.fromkeys(records) if number < len(partitions)]
    found = store.dead_at([(partitions[number], sort) for number, sort in known])
    rows = zip(known, found, strict=True)
    return {record: each for record, each in rows if each is not None}


def range_of(prefix: str, number: int, after: ListedRow | None) -> IndexRange:
    """Return the range of the partition *number* that follows the row *after*, among keys with *prefix*."""
    # No key is the prefix with its last character, a "#", replaced by the next one.
    high = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    if after is None:
        return IndexRange(prefix, high)
    if number == after.number:
        return IndexRange(after.key.ix, high, after.key.sort)
    return IndexRange(after.key.ix if number > after.number else after.key.ix + "\0", high)


def _listed(
    context: QueueContext, read: Read, partitions: int, prefix: str, limit: int, after: ListedRow | None
) -> tuple[list[ListedRow], ListedRow | None]:
    """Return the first *limit* rows of all partitions in one order, and the last one if there are more."""

    def rows_of(number: int) -> list[ListedRow]:
        keys = read(number, range_of(prefix, number, after), limit + 1)
        return [ListedRow(number, key) for key in keys]

    found = [row for rows in context.effects.each(rows_of, range(partitions)) for row in rows]
    # The sort is stable: equal keys stay as their partition has them.
    found.sort(key=lambda row: (row.key.ix, row.number))
    return found[:limit], found[limit - 1] if len(found) > limit else None
