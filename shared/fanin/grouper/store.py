"""The port of the group-batcher's store. Each call is one atomic request.

Every write is conditional and returns what is stored afterwards, whether this write or an earlier one stored
it, because a request can time out after it was applied and is then repeated. Reads by key are consistent;
they return expired rows until DynamoDB's time to live deletes them, which may take days. Reads of an index
(``candidates``, ``waiting``, ``open_tasks``, ``live``, ``bundles_of``, ``targets_of``) lag, so no decision
rests on them alone. A request whose outcome is unknown raises StoreUnavailable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from fanin.grouper.rules.model import Bundle, BundleKey, Candidate, Lane, Lease, Task, TaskKey

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Claim:
    """The bundle as stored after a claim, and the ids of tasks whose condition failed."""

    bundle: Bundle | None
    refused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows of a listing, and the cursor of the next page; None after the last."""

    rows: Sequence[Row]
    cursor: str | None = None


class GrouperStore(Protocol):
    """The promises of a store; tests/contract/grouper holds every store to them."""

    def create(self, task: Task) -> Task:
        """Store *task* unless a task of its key is stored that had not expired when *task* was created.

        Returns the stored task.
        """

    def task(self, key: TaskKey) -> Task | None:
        """Return the task if it is stored."""

    def tasks(self, keys: Collection[TaskKey]) -> Mapping[TaskKey, Task]:
        """Return those of the tasks that are stored."""

    def settle(self, task: Task, bundle_id: str) -> Task | None:
        """Replace the task if it is BUNDLED in *bundle_id*; return the task as stored."""

    def lease(self, lane: Lane) -> Lease | None:
        """Return the lane's current or last term, None if it never had one."""

    def put_lease(self, seen: Lease | None, wanted: Lease) -> Lease:
        """Replace *seen* by *wanted* if fence and holder are unchanged; return the lease as stored."""

    def claim(self, bundle: Bundle, joining: tuple[str, ...]) -> Claim:
        """Store *bundle* and bundle its last members, *joining*, in one transaction: all or nothing.

        Condition on the bundle: OPEN at the version before, or not stored for version 1. Condition on each of
        *joining*: CREATED in the bundle's lane and due by the time at which the bundle was created, as stored
        in both; it becomes BUNDLED and expires with the bundle.
        """

    def seal(self, bundle: Bundle) -> Bundle:
        """Take the bundle from OPEN to READY, or store a void, READY bundle if none is stored; return it."""

    def bundle(self, key: BundleKey) -> Bundle | None:
        """Return the bundle if it is stored."""

    def replace_bundle(self, bundle: Bundle) -> Bundle:
        """Replace the version before by *bundle*, except its members; return the bundle as stored."""

    def full_at(self, lane: Lane) -> datetime | None:
        """Return when the rate bucket of this lane is full again; None if it was never used."""

    def put_full_at(self, lane: Lane, seen: datetime | None, wanted: datetime) -> bool:
        """Replace *seen* by *wanted*; return whether this write did."""

    def candidates(self, lane: Lane, limit: int) -> Sequence[Candidate]:
        """Return open tasks of a lane by priority, then due time, from an index."""

    def waiting(self, lane: Lane, limit: int, after: str | None) -> Page[Candidate]:
        """Return a page of the open tasks of a lane, in the same order, after the sort key *after*.

        Its cursor is the sort key of its last task.
        """

    def targets_of(self, tenant: str, limit: int, after: str | None) -> Page[str]:
        """Return a page of a tenant's targets that had a leader, by name, after *after*, from an index."""

    def open_tasks(self, cursor: str | None) -> Page[Candidate]:
        """Return a page of the open tasks of all lanes, from an index."""

    def live(self, before: datetime, cursor: str | None) -> Page[BundleKey]:
        """Return a page of bundles with members, created before *before* and not ended, from an index."""

    def bundles_of(self, lane: Lane, limit: int, cursor: str | None) -> Page[BundleKey]:
        """Return a page of the bundles of a lane, the newest first, from an index."""
