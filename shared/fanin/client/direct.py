"""The transport that runs the tracker in this process, on the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from fanin.aws import clients
from fanin.aws.settings import Tables
from fanin.client.items import Items
from fanin.client.model import (
    AckReport,
    Cancelled,
    Closed,
    Completion,
    Failures,
    ItemVerdict,
    NewTask,
    QueueDescription,
    Ranges,
    RangeVerdict,
    Registered,
    Status,
    Summaries,
    Summary,
    TaskStatus,
)
from fanin.client.transport import Cursor
from fanin.errors import InvalidRequest
from fanin.pacing import each_in_threads
from fanin.tracker import Ack, Batch, BatchFilter, ListQuery, OpenBatch, Result, Slice, Tracker
from fanin.tracker.dynamodb import DynamoStore
from fanin.tracker.options import filter_of

NO_TASKS = "a direct client has no group-batcher; register tasks over HTTP"
NO_ADMINISTRATION = "a direct client does not administer work queues; do so over HTTP, Fanin(url)"


@dataclass(frozen=True, slots=True)
class DirectTransport:
    """Calls *tracker* on behalf of *tenant*, which is not authenticated here."""

    tracker: Tracker
    tenant: str

    @classmethod
    def on(cls, tables: Tables, tenant: str, page_bits: int) -> DirectTransport:
        """Return the transport over *tables*, with the credentials of this process."""
        store = DynamoStore(clients.dynamodb(), tables)
        return cls(Tracker(store, page_bits=page_bits, each=each_in_threads), tenant)

    def open(self, spec: OpenBatch, key: str) -> str:
        return self.tracker.open(self.tenant, spec, key=key).batch_id

    def get(self, batch_id: str) -> Status:
        batch = self.tracker.get(self.tenant, batch_id)
        progress = self.tracker.progress(batch)
        return Status(
            **_facts(batch),
            acked=progress.acked,
            failed=progress.failed,
            upper_bound=progress.upper_bound,
            exact=progress.exact,
        )

    def add(self, batch_id: str, count: int, key: str) -> Items:
        (group,) = self.tracker.add(self.tenant, batch_id, count, key=key).groups
        return Items(batch_id, group.id, group.upto)

    def close(self, batch_id: str, key: str) -> Closed:
        self.tracker.bind_key(self.tenant, "close", key, batch_id)
        closed = self.tracker.close(self.tenant, batch_id, _caller("close", key))
        batch = closed.batch
        return Closed(batch_id, batch.user_key, batch.state, batch.total, closed.completed_by_caller)

    def cancel(self, batch_id: str, reason: str | None, key: str) -> Cancelled:
        self.tracker.bind_key(self.tenant, "cancel", key, f"{batch_id}\n{reason or ''}")
        batch = self.tracker.cancel(self.tenant, batch_id, reason)
        return Cancelled(
            batch_id, batch.user_key, batch.state, batch.total, batch.result, batch.end_reason, batch.ended_at
        )

    def notify(self, batch_id: str, key: str) -> str:
        self.tracker.bind_key(self.tenant, "notify", key, batch_id)
        batch = self.tracker.notify(self.tenant, batch_id)
        return f"{batch_id}:{batch.state}"

    def ack(self, acks: Sequence[Ack], key: str | None = None) -> AckReport:  # noqa: ARG002  # each ack has its caller
        named = [replace(ack, caller=_caller("acks", ack.caller)) for ack in acks]
        report = self.tracker.ack(self.tenant, named)
        return AckReport(
            tuple(_item(result) for result in report.results if result.ack.size == 1),
            tuple(_completion(done.batch) for done in report.completions),
            tuple(_range(result) for result in report.results if result.ack.size > 1),
        )

    def outstanding(self, batch_id: str, cursor: Cursor) -> Ranges:
        found = self.tracker.outstanding(self.tracker.get(self.tenant, batch_id), cursor or 0)
        return Ranges(_items(batch_id, found), found.resume)

    def failures(self, batch_id: str, cursor: Cursor) -> Failures:
        batch = self.tracker.get(self.tenant, batch_id)
        found = self.tracker.failures(batch, cursor or 0)
        samples = () if cursor else tuple(self.tracker.samples(batch))
        return Failures(_items(batch_id, found), samples, found.resume)

    def register(self, task: NewTask, key: str) -> Registered:  # noqa: ARG002  # always refused
        raise InvalidRequest(NO_TASKS)

    def task(self, task_id: str) -> TaskStatus:  # noqa: ARG002  # always refused
        raise InvalidRequest(NO_TASKS)

    def batches(self, wanted: BatchFilter, cursor: Cursor) -> Summaries:
        found = self.tracker.list(self.tenant, ListQuery(**filter_of(wanted), after=cursor))
        return Summaries(tuple(Summary(**_facts(batch)) for batch in found.batches), found.resume)

    def create_queue(self, name: str, parts: int | None) -> QueueDescription | None:  # noqa: ARG002  # no API
        return None

    def administer(self, method: str, path: str, given: Any, reader: Any) -> Any:  # noqa: ARG002  # refused
        raise InvalidRequest(NO_ADMINISTRATION)


def _caller(route: str, key: str) -> str:
    """Return the caller of a call: its route and its key, so that two routes may share a key."""
    return f"{route}:{key}"


def _item(result: Result) -> ItemVerdict:
    ack = result.ack
    return ItemVerdict(f"{ack.batch_id}:{ack.group_id}:{ack.first}", result.verdict)


def _range(result: Result) -> RangeVerdict:
    ack = result.ack
    return RangeVerdict(ack.batch_id, ack.group_id, ack.first, ack.last, result.counts)


def _items(batch_id: str, found: Slice) -> tuple[Items, ...]:
    return tuple(Items.between(batch_id, part.group_id, part.first, part.last) for part in found.ranges)


def _facts(batch: Batch) -> dict[str, Any]:
    """Return the fields of a summary that a batch's row has."""
    same = {fact.name: getattr(batch, fact.name) for fact in fields(Summary) if fact.name != "reason"}
    return same | {"reason": batch.end_reason}


def _completion(batch: Batch) -> Completion:
    return Completion(batch.batch_id, batch.user_key, batch.result)
