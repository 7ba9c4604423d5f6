"""Reopen items of an ended batch: the request, the new batch, and the items of the origin that it stands for.

The failed items of an ended batch never change, because a failure and its healing are counted on the row of a
live batch, in one transaction. So item *k* of the new batch is the *k*-th failed item of the origin, and no
list is stored. A delayed ack can still mark an outstanding item as done after the end: the ranges of
unfinished items are stored with the new batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any

from fanin.errors import Conflict
from fanin.tracker.reads.walking import PAGES_A_WALK, Stretch, Walk, adjacent, joined, ranges_of, slice_of
from fanin.tracker.rules.ids import COUNT_MAX, GroupId
from fanin.tracker.rules.lifecycle import expiry, first_check
from fanin.tracker.rules.model import Batch, BatchKey, Group, ItemRange, State
from fanin.tracker.rules.options import OPTIONS, options_of
from fanin.tracker.store import TrackerStore

PAGES_A_REOPEN = 5_000
RANGES_A_REOPEN = 10_000
"""Ranges of unfinished items that one new batch may stand for; they are stored in one row."""
OF_THE_ORIGIN = tuple(name for name, each in OPTIONS.items() if each.is_of_its_items)
"""Options that a new batch does not take over."""


class ReopenItems(StrEnum):
    """Which items of the origin a new batch stands for: the failed ones, or the outstanding ones too."""

    FAILED = "failed"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenBatch:
    """A request for a new batch of items of an ended one. An option that is None is the origin's."""

    origin_batch_id: str
    items: ReopenItems = ReopenItems.FAILED
    user_key: str | None = None
    labels: Mapping[str, str] | None = None
    deadline: timedelta | None = None
    max_failures: int | None = None

    def __post_init__(self) -> None:
        for name, value in self.options().items():
            object.__setattr__(self, name, OPTIONS[name].checked(value))

    @property
    def fingerprint(self) -> str:
        """A hash of the request, to compare a repeated one with the first."""
        options = ", ".join(f"{name}={value!r}" for name, value in asdict(self).items() if value is not None)
        return hashlib.sha256(f"ReopenBatch({options})".encode()).hexdigest()

    def options(self) -> dict[str, Any]:
        """Return the options that replace the origin's, by their names."""
        own = {fact.name: getattr(self, fact.name) for fact in fields(self) if fact.name in OPTIONS}
        return {name: value for name, value in own.items() if value is not None}


@dataclass(frozen=True, slots=True)
class OriginSlice:
    """A part of the origin's items, in order: the first is item *rank* of the new batch.

    *resume*: the item of the origin to continue from, and its rank; None at the end.
    """

    ranges: tuple[ItemRange, ...]
    rank: int
    resume: tuple[int, int] | None


def check_origin(origin: Batch, count: int, kind: str) -> None:
    """Raise Conflict unless *count* items of *origin* can be reopened. *kind*: what they are, ``failed``."""
    if origin.is_alive:
        raise Conflict(f"batch {origin.batch_id} has not ended; wait for its end, or cancel it")
    if not count:
        hint = "there is nothing to reopen"
        if kind == ReopenItems.FAILED and origin.total and not origin.is_done:
            hint = "to reopen what is not acked, ask for the items 'unfinished' in place of 'failed'"
        raise Conflict(f"batch {origin.batch_id} has no {kind} items; {hint}")
    if count > COUNT_MAX:
        raise Conflict(f"{count} items are more than one batch can reopen, which is {COUNT_MAX}")


def reopened_batch(
    key: BatchKey,
    origin: Batch,
    request: ReopenBatch,
    size: tuple[int, int],
    salt: bytes,
    at: datetime,
) -> Batch:
    """Return the new batch, CLOSED, with all its items. *size*: their number, and items a page."""
    replaced = request.options()
    deadline = replaced.pop("deadline", origin.deadline_at and origin.deadline_at - origin.created_at)
    batch = Batch(
        tenant=key.tenant,
        batch_id=key.batch_id,
        state=State.CLOSED,
        total=size[0],
        failed=0,
        page_bits=size[1],
        salt=salt,
        fingerprint=request.fingerprint,
        created_at=at,
        closed_at=at,
        expires_at=at,
        deadline_at=at + deadline if deadline else None,
        origin_batch_id=origin.batch_id,
        **options_of(origin) | dict.fromkeys(OF_THE_ORIGIN) | replaced,
    )
    expires_at = expiry(batch, State.CLOSED, at)
    next_check_at = first_check(batch, State.CLOSED, at, expires_at)
    return replace(batch, expires_at=expires_at, next_check_at=next_check_at)


def whole_group(batch: Batch) -> Group:
    """Return the one group of a reopened batch: all its items."""
    return Group(str(GroupId.make(batch.salt, batch.batch_id, 0, batch.total)), batch.total)


def has_outstanding(store: TrackerStore, batch: Batch) -> bool:
    """Whether items of *batch* are outstanding, or may be: one walk may not suffice to see that none are."""
    walk = Walk(store, batch, 0, failures=False, budget=PAGES_A_WALK)
    return any(True for _ in walk.stretches()) or walk.stopped_at is not None


def unfinished(store: TrackerStore, batch: Batch) -> list[Stretch]:
    """Return the failed and the outstanding items of *batch*, in order; Conflict if they are too many."""
    found = sorted([*_all(store, batch, failures=True), *_all(store, batch, failures=False)])
    return list(joined(found, adjacent))


def _all(store: TrackerStore, batch: Batch, failures: bool) -> list[Stretch]:
    """Return all failed or all outstanding items, from a bounded number of pages."""
    walk = Walk(store, batch, 0, failures, PAGES_A_REOPEN)
    found = list(islice(walk.stretches(), RANGES_A_REOPEN // 2 + 1))
    if walk.stopped_at is not None or len(found) > RANGES_A_REOPEN // 2:
        raise Conflict(
            "the unfinished items are too many ranges or pages for one request; reopen the failed ones, or"
            " open a batch and add the others"
        )
    return found


def count_of(stretches: Sequence[Stretch]) -> int:
    """Return the number of items in *stretches*."""
    return sum(last - first + 1 for first, last in stretches)


def origin_slice(
    store: TrackerStore,
    origin: Batch,
    stretches: Sequence[Stretch] | None,
    at: tuple[int, int],
    limit: int,
) -> OriginSlice:
    """Return at most *limit* ranges of the origin's items from *at* on: an item of it, and its rank.

    *stretches*: the items, if they were stored; otherwise all failed ones.
    """
    start, rank = at
    if stretches is None:
        found = slice_of(store, origin, start, limit, failures=True)
    else:
        found = ranges_of(store, origin, stretches, start, limit)
    after = rank + sum(part.last - part.first + 1 for part in found.ranges)
    return OriginSlice(found.ranges, rank, None if found.resume is None else (found.resume, after))
