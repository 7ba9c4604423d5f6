"""The demo's consumer: read a delivery, do the work, ack, count. What fails goes back to the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanin.api import strict_json
from fanin.api.deliveries import Delivery, Settled, settle
from fanin.errors import InvalidRequest
from fanin.tracker import Ack, ItemId, Tracker, Verdict
from functions.demo.catalog import checked
from functions.demo.chaos import Chaos, Fault
from functions.demo.index import Entry, Index
from functions.demo.metering import WriteUnits


@dataclass(frozen=True, slots=True)
class Task:
    """A message that could be read, and what is to befall it."""

    message_id: str
    item: ItemId
    entry: Entry
    fault: Fault


@dataclass(frozen=True, slots=True)
class Worker:
    """Works through deliveries; *now* is the time in ms since 1970."""

    tracker: Tracker
    tenant: str
    index: Index
    units: WriteUnits
    chaos: Chaos
    now: Callable[[], int]

    def work(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer an SQS *event*: the partial batch response."""
        records = event["Records"]
        tasks = [task for record in records if (task := self._read(record))]
        self.index.write([task.entry for task in tasks if task.fault is not Fault.BEFORE_WORK])
        whole = [task for task in tasks if task.fault is Fault.NONE]
        acks = tuple(Ack.of(task.item, task.message_id) for task in whole)
        acked = {ack.caller for ack in acks}
        failed = tuple(record["messageId"] for record in records if record["messageId"] not in acked)
        settled = settle(self.tracker, self.tenant, Delivery(acks, failed))
        self._count(tasks, settled)
        return settled.response()

    def _read(self, record: Mapping[str, Any]) -> Task | None:
        """The task in a message; None where it breaks a rule: back it goes, until it is a dead letter."""
        try:
            body = strict_json.parse(record["body"])
            item = ItemId.parse(str(body.get("itemId")))
            entry = Entry(str(item), checked(body.get("record")), _sent_at(body), self.now())
        except InvalidRequest:
            return None
        receives = int(record["attributes"]["ApproximateReceiveCount"])
        return Task(record["messageId"], item, entry, self.chaos.fault(str(item), receives))

    def _count(self, tasks: Sequence[Task], settled: Settled) -> None:
        """What the report of the demo tells, added up by batch."""
        counts: dict[str, Counter[str]] = {}
        for task in tasks:
            faults = int(task.fault is not Fault.NONE)
            counts.setdefault(task.item.batch_id, Counter()).update(deliveries=1, faults=faults)
        for result in settled.report.results if settled.report else ():
            counts[result.ack.batch_id].update(repeats=result.counts.get(Verdict.DUPLICATE, 0))
        for batch_id, amounts in counts.items():
            self.index.count(batch_id, {**amounts, "writeUnits": self.units.take()})


def _sent_at(body: Mapping[str, Any]) -> int:
    sent_at = body.get("sentAt")
    if type(sent_at) is not int:
        raise InvalidRequest("sentAt is a time in ms", field="sentAt")
    return sent_at
