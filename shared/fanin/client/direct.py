"""The transport without a hop: the tracker itself, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fanin.aws import clients
from fanin.aws.settings import Tables
from fanin.client.items import Items
from fanin.client.model import AckReport, Closed, Completion, ItemVerdict, Status
from fanin.tracker import Ack, Batch, OpenBatch, Progress, Tracker
from fanin.tracker.dynamodb import DynamoStore


@dataclass(frozen=True, slots=True)
class DirectTransport:
    """Calls *tracker* on behalf of *tenant*; whoever builds it vouches for the tenant."""

    tracker: Tracker
    tenant: str

    @classmethod
    def on(cls, tables: Tables, tenant: str, page_bits: int) -> DirectTransport:
        """Over *tables*, with the credentials of this process."""
        return cls(Tracker(DynamoStore(clients.dynamodb(), tables), page_bits=page_bits), tenant)

    def open(self, wish: OpenBatch, key: str) -> str:
        return self.tracker.open(self.tenant, wish, key=key).batch_id

    def get(self, batch_id: str) -> Status:
        batch = self.tracker.get(self.tenant, batch_id)
        return _status(batch, self.tracker.progress(batch))

    def add(self, batch_id: str, count: int, key: str) -> Items:
        (group,) = self.tracker.add(self.tenant, batch_id, count, key=key).groups
        return Items(batch_id, group.id, group.upto)

    def close(self, batch_id: str, key: str) -> Closed:
        closed = self.tracker.close(self.tenant, batch_id, key)
        batch = closed.batch
        return Closed(batch_id, batch.user_key, batch.state, batch.total, closed.completed_by_caller)

    def ack(self, items: Sequence[str], callers: Sequence[str]) -> AckReport:
        acks = [Ack.of(item, caller) for item, caller in zip(items, callers, strict=True)]
        report = self.tracker.ack(self.tenant, acks)
        return AckReport(
            tuple(ItemVerdict(item, r.verdict) for item, r in zip(items, report.results, strict=True)),
            tuple(_completion(done.batch) for done in report.completions),
        )


def _status(batch: Batch, progress: Progress) -> Status:
    return Status(
        batch_id=batch.batch_id,
        user_key=batch.user_key,
        mode=batch.mode,
        state=batch.state,
        total=batch.total,
        acked=progress.acked,
        failed=progress.failed,
        upper_bound=progress.upper_bound,
        exact=progress.exact,
        result=batch.result,
        created_at=batch.created_at,
        expires_at=batch.expires_at,
        closed_at=batch.closed_at,
        completed_at=batch.completed_at,
    )


def _completion(batch: Batch) -> Completion:
    return Completion(batch.batch_id, batch.user_key, batch.result)
