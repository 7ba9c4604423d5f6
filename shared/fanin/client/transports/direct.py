"""The transport that runs the tracker in this process, on the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar

from fanin.client.items import Items
from fanin.client.model import (
    Cancelled,
    Closed,
    Deleted,
    Failures,
    Pairs,
    Publication,
    QueueDescription,
    Ranges,
    Rows,
    Status,
    Summaries,
    Summary,
)
from fanin.client.result_files import ResultFile, ResultFiles
from fanin.client.task_model import (
    BundleSummary,
    ListedTask,
    NewTask,
    Registered,
    TargetSummary,
    TaskResult,
    TaskStatus,
)
from fanin.client.transports.direct_acks import DirectAcks, caller_of, items_of
from fanin.client.transports.transport import Cursor
from fanin.errors import InvalidRequest
from fanin.pacing import each_in_threads
from fanin.settings.tracking import Tables
from fanin.tracker import Batch, BatchFilter, BatchMap, ListQuery, OpenBatch, State, Tracker
from fanin.tracker.batch_changes.reopening import OriginSlice, ReopenBatch, whole_group
from fanin.tracker.rules.filters import filter_of
from fanin.tracker.store import ResultStore

DIRECT = "direct"
"""The principal of a forced end: no service authenticates a direct client."""
NO_TASKS = "a direct client has no group-batcher; register tasks over HTTP"
NO_PUBLICATIONS = "a direct client has no stack that publishes objects; publish over HTTP, Fanin(url)"
NO_QUEUES = "a direct client does not list work queues; do so over HTTP, Fanin(url)"


@dataclass(frozen=True, slots=True)
class DirectTransport(DirectAcks):
    """Calls *tracker* on behalf of *tenant*, which is not authenticated here."""

    has_api: ClassVar[bool] = False

    @classmethod
    def on(
        cls, tables: Tables, tenant: str, page_bits: int, bus: str | None = None, bucket: str | None = None
    ) -> DirectTransport:
        """Return the transport over *tables*, with the credentials of this process.

        *bus*: the name of the bus for completions, if they are put on it at once. *bucket*: that of results.
        """
        from fanin.aws import clients  # noqa: PLC0415  # a tracker in memory needs no boto3
        from fanin.completion_events.announcer import announced_on  # noqa: PLC0415  # see clients
        from fanin.tracker.dynamodb import DynamoStore  # noqa: PLC0415  # see clients

        store = announced_on(bus, DynamoStore(clients.dynamodb(), tables))
        results = _results_in(bucket) if bucket else None
        return cls(Tracker(store, page_bits=page_bits, each=each_in_threads, results=results), tenant)

    def open(self, spec: OpenBatch, key: str) -> str:
        return self.tracker.open(self.tenant, spec, key=key).batch_id

    def get(self, batch_id: str) -> Status:
        batch = self.tracker.get(self.tenant, batch_id)
        return Status(**_facts(batch), **asdict(self.tracker.progress(batch)))

    def poll(self, batch_id: str) -> State:
        return self.tracker.get(self.tenant, batch_id).state

    def progress_token(self, batch_id: str, seconds: int) -> str:
        return str(self.tracker.progress_token(self.tenant, batch_id, timedelta(seconds=seconds)))

    def map(self, batch_id: str, cells: int, start: int, stop: int | None) -> BatchMap:
        return self.tracker.map(self.tracker.get(self.tenant, batch_id), cells, start, stop)

    def add(self, batch_id: str, count: int, key: str) -> Items:
        (group,) = self.tracker.add(self.tenant, batch_id, count, key=key).groups
        return Items(batch_id, group.id, group.upto)

    def close(self, batch_id: str, key: str) -> Closed:
        closed = self.tracker.close(self.tenant, batch_id, caller_of("close", key), key)
        batch = closed.batch
        return Closed(batch_id, batch.user_key, batch.state, batch.total, closed.completed_by_caller)

    def cancel(self, batch_id: str, reason: str | None, key: str, children: bool = False) -> Cancelled:
        return _cancelled(self.tracker.cancel(self.tenant, batch_id, reason, key, children))

    def children(self, batch_id: str, item_id: str | None, done: bool, cursor: Cursor) -> Summaries:
        batch = self.tracker.get(self.tenant, batch_id)
        page = self.tracker.children(batch, item_id, cursor or 0, done=done)
        return Summaries(tuple(Summary(**_facts(child)) for child in page.batches), page.resume)

    def reopen(self, request: ReopenBatch, key: str) -> Items:
        batch = self.tracker.reopen(self.tenant, request, caller_of("reopen", key), key=key)
        return Items(batch.batch_id, whole_group(batch).id, batch.total)

    def origin(self, batch_id: str, cursor: Cursor) -> Pairs:
        batch = self.tracker.get(self.tenant, batch_id)
        found = self.tracker.origin(batch, cursor or (0, 0))
        return Pairs(_pairs(batch, found), found.resume)

    def end(self, batch_id: str, reason: str, key: str) -> Cancelled:
        return _cancelled(self.tracker.end(self.tenant, batch_id, reason, DIRECT, key))

    def delete(self, batch_id: str) -> None:
        self.tracker.delete(self.tenant, batch_id)

    def delete_ended(self, before: datetime, cursor: Cursor) -> Deleted:
        part = self.tracker.delete_ended(self.tenant, before, cursor)
        return Deleted(part.count, part.unconfirmed, part.resume)

    def notify(self, batch_id: str, key: str) -> str:
        batch = self.tracker.notify(self.tenant, batch_id, key)
        return f"{batch_id}:{batch.state}"

    def outstanding(self, batch_id: str, cursor: Cursor) -> Ranges:
        found = self.tracker.outstanding(self.tracker.get(self.tenant, batch_id), cursor or 0)
        return Ranges(items_of(batch_id, found.ranges), found.resume)

    def failures(self, batch_id: str, cursor: Cursor) -> Failures:
        batch = self.tracker.get(self.tenant, batch_id)
        found = self.tracker.failures(batch, cursor or 0)
        samples = () if cursor else tuple(self.tracker.samples(batch))
        return Failures(items_of(batch_id, found.ranges), samples, found.resume)

    def results(self, batch_id: str, cursor: Cursor) -> ResultFiles:  # noqa: ARG002  # one page has all
        batch = self.tracker.get(self.tenant, batch_id)
        results: Any = self.tracker.result_store()
        index = results.gathered(batch, self.tracker.store)
        files = (ResultFile(file.last, partial(results.file, file.name)) for file in index.files)
        return ResultFiles(True, tuple(files))

    def register(self, task: NewTask, key: str) -> Registered:  # noqa: ARG002  # always refused
        raise InvalidRequest(NO_TASKS)

    def register_all(self, tasks: Sequence[NewTask], key: str) -> tuple[TaskResult, ...]:  # noqa: ARG002
        raise InvalidRequest(NO_TASKS)

    def task(self, task_id: str) -> TaskStatus:  # noqa: ARG002  # always refused
        raise InvalidRequest(NO_TASKS)

    def tasks(self, target: str, state: str, cursor: Cursor) -> Rows[ListedTask]:  # noqa: ARG002
        raise InvalidRequest(NO_TASKS)

    def bundles(self, target: str, state: str | None, cursor: Cursor) -> Rows[BundleSummary]:  # noqa: ARG002
        raise InvalidRequest(NO_TASKS)

    def targets(self, cursor: Cursor) -> Rows[TargetSummary]:  # noqa: ARG002
        raise InvalidRequest(NO_TASKS)

    def batches(self, wanted: BatchFilter, cursor: Cursor) -> Summaries:
        found = self.tracker.list(self.tenant, ListQuery(**filter_of(wanted), after=cursor))
        return Summaries(tuple(Summary(**_facts(batch)) for batch in found.batches), found.resume)

    def publish_object(self, body: Mapping[str, Any], key: str) -> str:  # noqa: ARG002  # always refused
        raise InvalidRequest(NO_PUBLICATIONS)

    def publication(self, batch_id: str) -> Publication:  # noqa: ARG002  # always refused
        raise InvalidRequest(NO_PUBLICATIONS)

    def create_queue(self, name: str, parts: int | None) -> QueueDescription | None:  # noqa: ARG002  # no API
        return None

    def administer(self, *request: Any) -> Any:  # noqa: ARG002  # refused
        raise InvalidRequest(NO_QUEUES)


def _results_in(bucket: str) -> ResultStore:
    from fanin.item_results.s3 import results_in  # noqa: PLC0415  # most deployments keep no results

    return results_in(bucket)


def _cancelled(batch: Batch) -> Cancelled:
    same = {fact.name: getattr(batch, fact.name) for fact in fields(Cancelled) if fact.name != "reason"}
    return Cancelled(**same, reason=batch.end_reason)


def _pairs(batch: Batch, found: OriginSlice) -> tuple[tuple[Items, Items], ...]:
    """Return the ranges of the origin, each with the items of *batch* that stand for it."""
    items, rank = Items(batch.batch_id, whole_group(batch).id, batch.total), found.rank
    pairs: list[tuple[Items, Items]] = []
    for part in found.ranges:
        old = Items.between(str(batch.origin_batch_id), part.group_id, part.first, part.last)
        pairs.append((old, items[rank : rank + len(old)]))
        rank += len(old)
    return tuple(pairs)


def _facts(batch: Batch) -> dict[str, Any]:
    """Return the fields of a summary that a batch's row has."""
    same = {fact.name: getattr(batch, fact.name) for fact in fields(Summary) if fact.name != "reason"}
    return same | {"reason": batch.end_reason}
