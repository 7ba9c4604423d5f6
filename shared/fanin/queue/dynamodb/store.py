"""The store of queues on one DynamoDB table with one local secondary index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, ParamValidationError

from fanin.aws.calls import send
from fanin.aws.dynamodb.reading import read_many
from fanin.aws.dynamodb.rows import Item, text
from fanin.aws.dynamodb.schema import readable
from fanin.errors import InvalidRequest, StaleWrite
from fanin.pacing import pause
from fanin.queue.dynamodb import items, page_requests, requests
from fanin.queue.rules import lifecycle, order
from fanin.queue.rules.config import QueueConfig, removed_meanwhile
from fanin.queue.rules.key_rows import Check
from fanin.queue.rules.keys import JobKey, PartKey, QueueKey
from fanin.queue.rules.model import Dead, Entry, GivenBack, Job, JobState, Member, OutboxEntry, Rerun
from fanin.queue.rules.order import IndexKey, IndexRange
from fanin.queue.store import Write

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MALFORMED = {"ValidationException", "ResourceNotFoundException", "TransactionCanceledException"}
"""The codes of a request that is refused for its form; failed conditions are a StaleWrite before."""
PREFIXES = {JobState.READY: order.READY, JobState.BUSY: order.BUSY, JobState.DELAYED: order.DELAYED}


@dataclass(frozen=True, slots=True)
class DynamoStore:
    """Stores queues in the table *table* through a low-level client."""

    client: DynamoDBClient
    table: str
    pause: Callable[[int], None] = pause

    def config(self, queue: QueueKey) -> QueueConfig | None:
        row = self._row(items.config_row(queue))
        return items.config_of(row) if row else None

    def create(self, queue: QueueKey, config: QueueConfig) -> QueueConfig:
        request = requests.create(self.table, queue, config)
        stored = self._write_config(queue, self.client.put_item, request, config)
        if stored is None:
            raise removed_meanwhile(queue.name)
        return stored

    def reconfigure(self, queue: QueueKey, config: QueueConfig) -> QueueConfig | None:
        request = requests.reconfigure(self.table, queue, config)
        return self._write_config(queue, self.client.update_item, request, config)

    def add(self, job: Job, over: Job | None, check: Check | None = None) -> Job | None:
        if check is not None:
            request = requests.add_checked(self.table, job, over, check)
            return job if self._transacts(request) else self.get(job.key)
        try:
            send(self.client.put_item, requests.add(self.table, job, over))
        except StaleWrite as stale:
            return self._seen(job.key, stale)
        return job

    def collide(self, seen: Job) -> None:
        self._applies(requests.collide(self.table, seen))

    def rerun(self, seen: Job, rerun: Rerun) -> Job | None:
        return self._update(seen.key, requests.rerun(self.table, seen, rerun))

    def get(self, key: JobKey) -> Job | None:
        row = self._row(items.job_row(key))
        return items.job_of(row, key.part) if row else None

    def ready(self, part: PartKey, limit: int) -> Sequence[Entry]:
        return self._entries(part, requests.listed(self.table, items.part_pk(part), order.READY), limit)

    def claim(self, seen: Entry, session: str, claim: str, at: int) -> Job | None:
        job = self._update(seen.key, requests.claim(self.table, seen, session, claim, at))
        return job if job is not None and job.claim == claim else None

    def give_back(self, seen: Entry, release: GivenBack) -> bool:
        return self._applies(requests.give_back(self.table, seen, release))

    def end(self, job: Job, at: int, writes: Sequence[Write] = (), dead: Dead | None = None) -> Job | None:
        if writes or dead is not None or job.item_id is not None:
            return self._end_with(job, at, writes, dead)
        kind, request = requests.end(self.table, job, at)
        if kind == "Update":
            return self._update(job.key, request)
        try:
            send(self.client.put_item, request)
        except StaleWrite as stale:
            return self._seen(job.key, stale)
        return lifecycle.ended(job, at)

    def promote(self, seen: Entry, at: int) -> bool:
        return self._applies(requests.promote(self.table, seen, at))

    def outstanding(self, part: PartKey, now: int) -> Sequence[Entry]:
        return self._readable_entries(part, requests.outstanding(self.table, part, now))

    def claims_of(self, part: PartKey, session: str) -> Sequence[Entry]:
        listed = requests.listed(self.table, items.part_pk(part), order.busy_of(session))
        return self._readable_entries(part, listed)

    def outbox(self, part: PartKey) -> Sequence[OutboxEntry]:
        rows = self._rows(requests.partition(self.table, items.outbox_pk(part)))
        return readable(lambda row: items.outbox_entry_of(row, part), rows)

    def has_outbox(self, part: PartKey) -> bool:
        return bool(self._rows(requests.partition(self.table, items.outbox_pk(part)), 1))

    def delete_outbox_entry(self, queue: QueueKey, entry: OutboxEntry) -> None:
        self._applies(requests.delete_outbox_entry(self.table, queue, entry), self.client.delete_item)

    def jobs(self, part: PartKey, state: JobState, limit: int) -> Sequence[Job]:
        listed = requests.listed(self.table, items.part_pk(part), PREFIXES[state])
        return [items.job_of(row, part) for row in self._whole_rows(listed, limit)]

    def first(self, part: PartKey, limit: int) -> Sequence[Entry]:
        return self._entries(part, requests.first(self.table, part), limit)

    def count(self, part: PartKey, state: JobState, limit: int) -> int:
        return self._count(items.part_pk(part), PREFIXES[state], limit)

    def count_dead(self, part: PartKey, limit: int) -> int:
        return self._count(items.dead_pk(part), order.DEAD, limit)

    def dead(self, part: PartKey, limit: int) -> Sequence[Dead]:
        listed = requests.listed(self.table, items.dead_pk(part), order.DEAD)
        return [items.dead_of(row, part) for row in self._whole_rows(listed, limit)]

    def revive(self, dead: Dead, job: Job, over: Job | None, check: Check | None = None) -> Job | None:
        request = requests.revive(self.table, dead, job, over, check)
        return job if self._transacts(request) else self.get(job.key)

    def page(self, part: PartKey, after: str, limit: int) -> tuple[Sequence[Job], str | None]:
        answer = send(self.client.query, requests.page(self.table, part, after, limit))
        last = answer.get("LastEvaluatedKey")
        return [items.job_of(row, part) for row in answer["Items"]], last["sk"]["S"] if last else None

    def move(self, seen: Job, job: Job, over: Job | None, at: int) -> bool:
        return self._transacts(requests.move(self.table, seen, job, over, at))

    def remove(self, seen: Job, entries: Sequence[OutboxEntry]) -> bool:
        request = requests.remove(self.table, seen, entries)
        if not entries:
            (action,) = request["TransactItems"]
            return self._applies(action["Delete"], self.client.delete_item)
        return self._applies(request, self.client.transact_write_items)

    def remove_dead(self, dead: Dead) -> bool:
        return self._applies(requests.remove_dead(self.table, dead), self.client.delete_item)

    def delete(self, seen: Job, entries: Sequence[OutboxEntry], at: int, deletion: str) -> Job | None:
        update = requests.delete(self.table, seen, at, deletion)
        if not entries:
            return self._update(seen.key, update)
        try:
            send(self.client.transact_write_items, requests.delete_with(self.table, seen, entries, update))
        except StaleWrite:
            return self.get(seen.key)
        return lifecycle.deleted(seen, at, deletion)

    def job_keys(self, part: PartKey, within: IndexRange, limit: int) -> Sequence[IndexKey]:
        return self._keys(items.part_pk(part), within, limit)

    def dead_keys(self, part: PartKey, within: IndexRange, limit: int) -> Sequence[IndexKey]:
        return self._keys(items.dead_pk(part), within, limit)

    def jobs_at(self, keys: Sequence[JobKey]) -> Sequence[Job]:
        found = self._at([items.job_row(key) for key in keys])
        rows = ((key, found.get(_key(items.job_row(key)))) for key in keys)
        return [items.job_of(row, key.part) for key, row in rows if row]

    def dead_at(self, records: Sequence[tuple[PartKey, str]]) -> Sequence[Dead | None]:
        keys = [{"pk": items.dead_pk(part), "sk": text(record)} for part, record in records]
        found = self._at(keys)
        rows = ((part, found.get(_key(key))) for (part, _), key in zip(records, keys, strict=True))
        return [items.dead_of(row, part) if row else None for part, row in rows]

    def enter(self, queue: QueueKey, member: Member) -> None:
        self._put(requests.enter(self.table, queue, member))

    def beat(self, queue: QueueKey, session: str, expires_us: int) -> bool:
        return self._applies(requests.beat(self.table, queue, session, expires_us))

    def members(self, queue: QueueKey) -> Sequence[Member]:
        rows = self._rows(requests.partition(self.table, items.session_pk(queue)))
        return [items.member_of(row) for row in rows]

    def members_after(self, queue: QueueKey, after: str | None, limit: int) -> Sequence[Member]:
        rows = self._rows(page_requests.sessions_after(self.table, queue, after, limit), limit)
        return [items.member_of(row) for row in rows]

    def some_members(self, queue: QueueKey, ids: Sequence[str]) -> Sequence[Member]:
        keys = [items.session_row(queue, session) for session in ids]
        rows = read_many(self.client, self.table, keys, self.pause)
        return [items.member_of(row) for row in rows]

    def peek(self, queue: QueueKey, ids: Sequence[str] | None) -> Sequence[Member]:
        if ids is None:
            request = requests.partition(self.table, items.session_pk(queue)) | {"ConsistentRead": False}
            return [items.member_of(row) for row in self._rows(request)]
        keys = [items.session_row(queue, session) for session in ids]
        rows = read_many(self.client, self.table, keys, self.pause, consistent=False)
        return [items.member_of(row) for row in rows]

    def peek_config(self, queue: QueueKey) -> tuple[int, int]:
        answer = send(self.client.get_item, requests.peek_config(self.table, queue))
        return items.counts_of(answer.get("Item"))

    def count_change(self, queue: QueueKey) -> None:
        self._applies(requests.count_change(self.table, queue))

    def end_session(self, queue: QueueKey, session: str, heartbeats: int | None) -> bool:
        try:
            send(self.client.update_item, requests.end_session(self.table, queue, session, heartbeats))
        except StaleWrite as stale:
            row = stale.stored[0] or self._row(items.session_row(queue, session))
            return row is None or not items.member_of(row).live
        return True

    def forget(self, queue: QueueKey, session: str) -> None:
        self._applies(requests.forget(self.table, queue, session), self.client.delete_item)

    def _end_with(self, job: Job, at: int, writes: Sequence[Write], dead: Dead | None) -> Job | None:
        request = requests.end_with(self.table, job, at, writes, dead)
        try:
            send(self.client.transact_write_items, request)
        except StaleWrite as stale:
            stored = self.get(job.key)
            if stored is not None and lifecycle.may_be_ended(stored, job):
                # The condition on the claim holds, so a condition of the user's failed.
                raise _refused(stale, len(request["TransactItems"]) - len(writes)) from stale
            return stored
        except (ParamValidationError, ClientError) as error:
            if writes and _is_malformed(error):
                raise InvalidRequest(
                    f"the writes of this ack are refused: {error}", field="writes"
                ) from error
            raise
        return lifecycle.ended(job, at)

    def _write_config(
        self, queue: QueueKey, operation: Callable[..., Any], request: Item, config: QueueConfig
    ) -> QueueConfig | None:
        """Send the write of a config; return the config that is stored then, if any."""
        try:
            send(operation, request)
        except StaleWrite as stale:
            (row,) = stale.stored
            return items.config_of(row) if row else self.config(queue)
        return config

    def _transacts(self, request: Item) -> bool:
        """Send a transaction; return whether its conditions held."""
        return self._applies(request, self.client.transact_write_items)

    def _put(self, request: Item) -> bool:
        return self._applies(request, self.client.put_item)

    def _applies(self, request: Item, operation: Callable[..., Any] | None = None) -> bool:
        """Send a conditional write; return whether its condition held."""
        try:
            send(operation or self.client.update_item, request)
        except StaleWrite as stale:
            for row in filter(None, stale.stored):
                items.SCHEMA.checked("row", row)
            return False
        return True

    def _update(self, key: JobKey, request: Item) -> Job | None:
        """Send an update; return the job as it is stored then, also where the condition failed."""
        try:
            return items.job_of(send(self.client.update_item, request)["Attributes"], key.part)
        except StaleWrite as stale:
            return self._seen(key, stale)

    def _seen(self, key: JobKey, stale: StaleWrite) -> Job | None:
        """Return the stored job of a failed condition: from the error, or by a read where it lacks it."""
        (row,) = stale.stored
        return items.job_of(row, key.part) if row else self.get(key)

    def _row(self, key: Item) -> Item | None:
        return send(self.client.get_item, requests.read(self.table, key)).get("Item")

    def _entries(self, part: PartKey, request: Item, limit: int | None = None) -> list[Entry]:
        return [items.entry_of(row, part) for row in self._rows(request, limit)]

    def _readable_entries(self, part: PartKey, request: Item) -> list[Entry]:
        """Return the entries of a query for the sweep, without rows that cannot be read."""
        return readable(lambda row: items.entry_of(row, part), self._rows(request))

    def _whole_rows(self, request: Item, limit: int) -> list[Item]:
        """Return whole rows in the order of an index query, without those that changed since the query."""
        listed = self._rows(request, limit)
        found = self._at([{"pk": row["pk"], "sk": row["sk"]} for row in listed])
        rows = ((row, found.get(_key(row))) for row in listed)
        return [whole for row, whole in rows if whole and whole.get("ix") == row["ix"]]

    def _at(self, keys: Sequence[Item]) -> dict[tuple[str, str], Item]:
        """Return the stored rows of *keys*, which are distinct, by key."""
        return {_key(row): row for row in read_many(self.client, self.table, keys, self.pause)}

    def _keys(self, pk: Item, within: IndexRange, limit: int) -> list[IndexKey]:
        rows = self._rows(page_requests.within(self.table, pk, within, limit), limit)
        return [IndexKey(row["ix"]["S"], row["sk"]["S"]) for row in rows]

    def _count(self, pk: Item, prefix: str, limit: int) -> int:
        """Count up to *limit* rows; not consistently, which costs half."""
        more = {"Select": "COUNT", "ConsistentRead": False, "Limit": limit}
        counted = 0
        for answer in self._pages(requests.listed(self.table, pk, prefix, **more)):
            counted += answer["Count"]
            if counted >= limit:
                break
        return min(counted, limit)

    def _rows(self, request: Item, limit: int | None = None) -> list[Item]:
        """Return up to *limit* rows of a query, from as many pages as needed."""
        found: list[Item] = []
        for answer in self._pages(request if limit is None else request | {"Limit": limit}):
            found += answer["Items"]
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def _pages(self, request: Item) -> Iterator[dict[str, Any]]:
        start: Any = {}
        while start is not None:
            answer = send(self.client.query, request | start)
            yield answer
            last = answer.get("LastEvaluatedKey")
            start = {"ExclusiveStartKey": last} if last else None


def _key(row: Item) -> tuple[str, str]:
    return row["pk"]["S"], row["sk"]["S"]


def _is_malformed(error: ParamValidationError | ClientError) -> bool:
    """Return whether a request was refused for its form: nothing was written, and a repetition fails too."""
    return isinstance(error, ParamValidationError) or error.response["Error"]["Code"] in MALFORMED


def _refused(stale: StaleWrite, before: int) -> StaleWrite:
    """Return the error of a failed condition of the user's; *before*: the number of actions before theirs."""
    failed = tuple(index - before for index in stale.failed if index >= before)
    names = ", ".join(f"writes[{index}]" for index in failed) or "one of the writes"
    return StaleWrite(
        f"the condition of {names} does not hold: nothing was written, and the job is still claimed",
        stored=stale.stored[before:],
        failed=failed,
    )
