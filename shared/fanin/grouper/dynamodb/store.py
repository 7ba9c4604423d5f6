"""The group-batcher's store on three DynamoDB tables: tasks, leases (with the rate buckets) and bundles."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fanin.aws.calls import send
from fanin.aws.dynamodb.reading import read_many
from fanin.aws.dynamodb.rows import Item
from fanin.aws.dynamodb.schema import readable
from fanin.errors import StaleWrite, StoreUnavailable
from fanin.grouper.dynamodb import items, requests
from fanin.grouper.rules.model import Bundle, BundleKey, Candidate, Lane, Lease, Task, TaskKey
from fanin.grouper.store import Claim, Page
from fanin.pacing import pause

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class GrouperTables:
    """The names of the group-batcher's tables."""

    tasks: str
    leases: str
    bundles: str


@dataclass(frozen=True, slots=True)
class DynamoStore:
    """A GrouperStore on DynamoDB. *pause* waits before a repeated read, by the number of the attempt.

    *draw*: returns a random number below its argument.
    """

    client: DynamoDBClient
    tables: GrouperTables
    pause: Callable[[int], None] = pause
    draw: Callable[[int], int] = random.randrange

    def create(self, task: Task) -> Task:
        try:
            send(self.client.put_item, requests.create(self.tables.tasks, task))
        except StaleWrite as stale:
            stored = self._stored_task(task.key, stale)
            if stored is None:
                raise StoreUnavailable("the row of the task was deleted during the write; retry") from stale
            return stored
        return task

    def task(self, key: TaskKey) -> Task | None:
        item = self._row(self.tables.tasks, items.task_key(key))
        return items.task_of(item) if item else None

    def tasks(self, keys: Collection[TaskKey]) -> Mapping[TaskKey, Task]:
        wanted = [items.task_key(key) for key in dict.fromkeys(keys)]
        found = map(items.task_of, read_many(self.client, self.tables.tasks, wanted, self.pause))
        return {task.key: task for task in found}

    def settle(self, task: Task, bundle_id: str) -> Task | None:
        try:
            answer = send(self.client.update_item, requests.settle(self.tables.tasks, task, bundle_id))
        except StaleWrite as stale:
            return self._stored_task(task.key, stale)
        return items.task_of(answer["Attributes"])

    def lease(self, lane: Lane) -> Lease | None:
        item = self._row(self.tables.leases, items.lane_key(lane))
        return items.lease_of(lane, item) if item else None

    def put_lease(self, seen: Lease | None, wanted: Lease) -> Lease:
        try:
            request = requests.put_lease(self.tables.leases, seen, wanted)
            return items.lease_of(wanted.lane, send(self.client.update_item, request)["Attributes"])
        except StaleWrite as stale:
            item = stale.stored[0] or self._row(self.tables.leases, items.lane_key(wanted.lane))
        if item is None:
            raise StoreUnavailable("the row of the lease was deleted during the write; retry")
        return items.lease_of(wanted.lane, item)

    def claim(self, bundle: Bundle, joining: tuple[str, ...]) -> Claim:
        request = requests.claim(self.tables.tasks, self.tables.bundles, bundle, joining)
        try:
            send(self.client.transact_write_items, request)
        except StaleWrite:
            return self._refusal(bundle, joining)
        return Claim(bundle)

    def seal(self, bundle: Bundle) -> Bundle:
        return self._write_bundle(bundle.key, requests.seal(self.tables.bundles, bundle))

    def bundle(self, key: BundleKey) -> Bundle | None:
        item = self._row(self.tables.bundles, items.bundle_key(key))
        return items.bundle_of(item) if item else None

    def replace_bundle(self, bundle: Bundle) -> Bundle:
        return self._write_bundle(bundle.key, requests.replace_bundle(self.tables.bundles, bundle))

    def full_at(self, lane: Lane) -> datetime | None:
        item = self._row(self.tables.leases, items.lane_key(lane))
        return items.full_at_of(item) if item else None

    def put_full_at(self, lane: Lane, seen: datetime | None, wanted: datetime) -> bool:
        try:
            send(self.client.update_item, requests.put_full_at(self.tables.leases, lane, seen, wanted))
        except StaleWrite as stale:
            items.SCHEMA.checked("rate bucket", stale.stored[0] or {})
            return False
        return True

    def candidates(self, lane: Lane, limit: int) -> Sequence[Candidate]:
        answer = send(self.client.query, requests.candidates(self.tables.tasks, lane, limit))
        return [items.candidate_of(item) for item in answer["Items"]]

    def waiting(self, lane: Lane, limit: int, after: str | None) -> Page[Candidate]:
        answer = send(self.client.query, requests.waiting(self.tables.tasks, lane, limit + 1, after))
        rows = answer["Items"]
        more = rows[limit - 1]["order"]["S"] if len(rows) > limit else None
        return Page([items.candidate_of(item) for item in rows[:limit]], more)

    def targets_of(self, tenant: str, limit: int, after: str | None) -> Page[str]:
        names: list[str] = []
        while len(names) <= limit:  # each read has a name that is not among them
            answer = send(self.client.query, requests.targets_of(self.tables.leases, tenant, after))
            names += dict.fromkeys(item["target"]["S"] for item in answer["Items"])
            if "LastEvaluatedKey" not in answer:
                break
            after = names[-1]
        return Page(names[:limit], names[limit - 1] if len(names) > limit else None)

    def open_tasks(self, cursor: str | None) -> Page[Candidate]:
        """Return a page of the index; where one does not hold all, the others begin at any of its segments.

        So a reader without the time for all of them reads others each time. Their last ones may have rows of
        the first page once more.
        """
        at: list[Any] | None = json.loads(cursor) if cursor else None
        segment, start = at[1:] if at else (None, None)
        answer = send(self.client.scan, requests.open_tasks(self.tables.tasks, segment, start))
        rows = [items.candidate_of(row) for row in answer["Items"]]
        return Page(rows, self._after(at, answer.get("LastEvaluatedKey")))

    def _after(self, at: list[Any] | None, last: Item | None) -> str | None:
        """Return the cursor after a page of the scan *at*: its first segment, its segment and start."""
        if at is None:
            first = self.draw(requests.SEGMENTS)
            return json.dumps([first, first, None]) if last else None
        first, segment, _ = at
        if last:
            return json.dumps([first, segment, last])
        segment = (segment + 1) % requests.SEGMENTS
        return None if segment == first else json.dumps([first, segment, None])

    def live(self, before: datetime, cursor: str | None) -> Page[BundleKey]:
        """Return a page of one shard of the index; after its last page the cursor names the next shard."""
        shard, start = json.loads(cursor or "[0, null]")
        request = requests.live(self.tables.bundles, shard, before)
        answer = send(self.client.query, request | ({"ExclusiveStartKey": start} if start else {}))
        last = answer.get("LastEvaluatedKey")
        shard = shard if last else shard + 1
        more = json.dumps([shard, last]) if shard < items.LIVE_SHARDS else None
        return Page([items.bundle_key_of(item) for item in answer["Items"]], more)

    def bundles_of(self, lane: Lane, limit: int, cursor: str | None) -> Page[BundleKey]:
        fence = int(cursor) if cursor is not None else None
        answer = send(self.client.query, requests.bundles_of(self.tables.bundles, lane, limit + 1, fence))
        rows = answer["Items"]
        more = rows[limit - 1]["fence"]["N"] if len(rows) > limit else None
        return Page([items.bundle_key_of(item) for item in rows[:limit]], more)

    def _refusal(self, bundle: Bundle, joining: tuple[str, ...]) -> Claim:
        """Return what caused a claim to fail, by consistent reads: the bundle first, then the tasks.

        A task that cannot be read is refused, so that the leader bundles the others of its lane.
        """
        stored = self.bundle(bundle.key)
        keys = [items.task_key(TaskKey(bundle.tenant, name)) for name in joining]
        tasks = readable(items.task_of, read_many(self.client, self.tables.tasks, keys, self.pause))
        free = {task.task_id for task in tasks if task.may_join(bundle)}
        return Claim(stored, frozenset(joining) - free)

    def _row(self, table: str, key: Item) -> Item | None:
        request = {"TableName": table, "Key": key, "ConsistentRead": True}
        return send(self.client.get_item, request).get("Item")

    def _write_bundle(self, key: BundleKey, request: Item) -> Bundle:
        """Send a conditional write and return the bundle as stored, also if the condition failed."""
        try:
            return items.bundle_of(send(self.client.update_item, request)["Attributes"])
        except StaleWrite as stale:
            item = stale.stored[0] or self._row(self.tables.bundles, items.bundle_key(key))
        if item is None:
            raise StoreUnavailable("the row of the bundle was deleted during the write; retry")
        return items.bundle_of(item)

    def _stored_task(self, key: TaskKey, stale: StaleWrite) -> Task | None:
        """Return the task for which a write's condition failed; read it if the error does not hold it."""
        (item,) = stale.stored
        return items.task_of(item) if item else self.task(key)
