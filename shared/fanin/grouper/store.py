"""The port between the grouper and whatever keeps its items. Each call is one atomic request.

Every write is conditional and says what is stored afterwards, whether it was this write that put it there
or an earlier one: a caller that got no answer asks again and looks. Reads by key are consistent, and show
rows that have expired until time to live deletes them, which may take days. Reads of
an index (``candidates``, ``open_tasks``, ``live``, ``bundles_of``) may show the past: nothing may be decided
by them alone. A request whose outcome is unknown raises StoreUnavailable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from fanin.grouper.model import Bundle, BundleKey, Candidate, Lane, Lease, Task, TaskKey

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Claim:
    """The bundle as it is stored after a claim, and the tasks that stood in its way."""

    bundle: Bundle | None
    refused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows of a listing, and where the next begin; None after the last."""

    rows: Sequence[Row]
    cursor: str | None = None


class GrouperStore(Protocol):
    """What a store promises; the contract suite holds each of them to it."""

    def create(self, task: Task) -> Task:
        """Store *task* unless one of its key is there that had not expired when *task* was created; the
        stored one either way."""

    def task(self, key: TaskKey) -> Task | None:
        """The task, if it is stored."""

    def tasks(self, keys: Collection[TaskKey]) -> Mapping[TaskKey, Task]:
        """Those of the tasks that are stored."""

    def settle(self, task: Task, bundle_id: str) -> Task | None:
        """Put *task* in the place of the one that is BUNDLED in *bundle_id*; the task as stored now."""

    def lease(self, lane: Lane) -> Lease | None:
        """The lane's present or last term, if it ever had one."""

    def put_lease(self, seen: Lease | None, wanted: Lease) -> Lease:
        """Put *wanted* in the place of *seen*, if fence and holder are unchanged; the lease as stored now."""

    def claim(self, bundle: Bundle, joining: tuple[str, ...]) -> Claim:
        """In one transaction: the bundle becomes *bundle*, if it is OPEN at the version before (version 1: if
        it is not there), and each of *joining*, its last members, becomes BUNDLED and expires with the
        bundle, if it is CREATED in the bundle's lane. All or nothing."""

    def seal(self, bundle: Bundle) -> Bundle:
        """OPEN becomes READY; where none of this key is stored, a void one is, READY. As stored now."""

    def bundle(self, key: BundleKey) -> Bundle | None:
        """The bundle, if it is stored."""

    def replace_bundle(self, bundle: Bundle) -> Bundle:
        """Write *bundle*, members apart, over its version before; the bundle as stored now."""

    def full_at(self, lane: Lane) -> datetime | None:
        """When the rate bucket of this name is full again; None if it was never used."""

    def put_full_at(self, lane: Lane, seen: datetime | None, wanted: datetime) -> bool:
        """Put *wanted* in the place of *seen*; whether it was this write that did."""

    def candidates(self, lane: Lane, limit: int) -> Sequence[Candidate]:
        """Open tasks of a lane, by priority, then by due time. From an index."""

    def open_tasks(self, cursor: str | None) -> Page[Candidate]:
        """Open tasks of every lane. From an index."""

    def live(self, before: datetime, cursor: str | None) -> Page[BundleKey]:
        """Bundles with members that were created before and have not ended. From an index."""

    def bundles_of(self, lane: Lane, limit: int, cursor: str | None) -> Page[BundleKey]:
        """Bundles of a lane, the newest first. From an index."""
