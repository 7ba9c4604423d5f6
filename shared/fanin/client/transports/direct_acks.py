"""The acks of consumers that call the tracker in this process, on the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fanin.client.items import Items
from fanin.client.transports.reports import AckReport, Completion, ItemVerdict, RangeVerdict
from fanin.tracker import Ack, Batch, ItemRange, Result, State, Tracker
from fanin.tracker.rules import model


@dataclass(frozen=True, slots=True)
class DirectAcks:
    """Acks by *tracker* on behalf of *tenant*, which is not authenticated here."""

    tracker: Tracker
    tenant: str

    def ack(self, acks: Sequence[Ack], key: str | None = None) -> AckReport:
        named = [replace(ack, caller=caller_of("acks", ack.caller)) for ack in acks]
        return _report(self.tracker.ack(self.tenant, named, key))

    def verdicts(self, acks: Sequence[Ack]) -> AckReport:
        return _report(self.tracker.verdicts(self.tenant, acks))

    def outstanding_of(
        self, batch_id: str, group_id: str, first: int, last: int, failed: bool = False
    ) -> tuple[Items, ...]:
        batch = self.tracker.get(self.tenant, batch_id)
        found = self.tracker.window(batch, group_id, first, last)
        wanted = found.outstanding | (found.failed if failed else 0)
        return items_of(batch_id, found.ranges(wanted))

    def state_of(self, batch_id: str) -> State | None:
        return self.tracker.state_of(self.tenant, batch_id)


def items_of(batch_id: str, ranges: Sequence[ItemRange]) -> tuple[Items, ...]:
    """Return *ranges* of a batch as their item ids."""
    return tuple(Items.between(batch_id, part.group_id, part.first, part.last) for part in ranges)


def caller_of(route: str, key: str) -> str:
    """Return the caller of a call: its route and its key, so that two routes may share a key."""
    return f"{route}:{key}"


def _report(report: model.AckReport) -> AckReport:
    return AckReport(
        tuple(_item(result) for result in report.results if result.ack.size == 1),
        tuple(_completion(completion.batch) for completion in report.completions),
        tuple(_range(result) for result in report.results if result.ack.size > 1),
    )


def _item(result: Result) -> ItemVerdict:
    ack = result.ack
    return ItemVerdict(f"{ack.batch_id}:{ack.group_id}:{ack.first}", result.verdict)


def _range(result: Result) -> RangeVerdict:
    ack = result.ack
    return RangeVerdict(ack.batch_id, ack.group_id, ack.first, ack.last, result.counts)


def _completion(batch: Batch) -> Completion:
    return Completion(batch.batch_id, batch.user_key, batch.result)
