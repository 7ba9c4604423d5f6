"""The demo's consumer: read a delivery, do the work, ack, count. What fails goes back to the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanin.api import strict_json
from fanin.client.consumer import Consumer, Outcomes
from fanin.client.transport import Transport
from fanin.errors import InvalidRequest
from fanin.tracker import ItemId, Verdict
from functions.demo.catalog import checked
from functions.demo.chaos import Chaos, Fault
from functions.demo.index import Entry, Index


@dataclass(frozen=True, slots=True)
class Task:
    """A message that could be read, and what is to befall it."""

    record: Mapping[str, Any]
    batch_id: str
    entry: Entry
    fault: Fault


@dataclass(frozen=True, slots=True)
class Worker:
    """Works through deliveries; *now* is the time in ms, *units* the write units since it was last asked."""

    transport: Transport
    index: Index
    units: Callable[[], float]
    chaos: Chaos
    now: Callable[[], int]

    def work(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer an SQS *event*: rows into the index, then one ack; the answer names what goes back."""
        records = event["Records"]
        tasks = [task for record in records if (task := self._read(record))]
        self.index.write([task.entry for task in tasks if task.fault is not Fault.BEFORE_WORK])
        indexed = self.units()
        done = [task.record for task in tasks if task.fault is Fault.NONE]
        settled = Consumer(self.transport).settle({"Records": done})
        acked = self.units()
        spent = Counter(writeUnits=indexed + acked, ackUnits=acked)
        self._count(tasks, settled.acked, spent)
        kept = {record["messageId"] for record in done} - set(settled.failed)
        failed = [record["messageId"] for record in records if record["messageId"] not in kept]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}

    def _read(self, record: Mapping[str, Any]) -> Task | None:
        """The task in a message; None where it breaks a rule: back it goes, until it is a dead letter."""
        try:
            body = strict_json.parse(record["body"])
            item = ItemId.parse(str(body.get("itemId")))
            entry = Entry(str(item), checked(body.get("record")), _sent_at(body), self.now())
        except InvalidRequest:
            return None
        receives = int(record["attributes"]["ApproximateReceiveCount"])
        return Task(record, item.batch_id, entry, self.chaos.fault(str(item), receives))

    def _count(self, tasks: Sequence[Task], acked: Outcomes, spent: Counter[str]) -> None:
        """What the demo reports, added up by batch; a delivery's cost goes to its first batch."""
        batches = {task.record["messageId"]: task.batch_id for task in tasks}
        counts: dict[str, Counter[str]] = {batch_id: Counter() for batch_id in batches.values()}
        for task in tasks:
            counts[task.batch_id].update(deliveries=1, faults=int(task.fault is not Fault.NONE), repeats=0)
        for record, verdict in acked:
            counts[batches[record["messageId"]]].update(repeats=int(verdict is Verdict.DUPLICATE))
        for batch_id, amounts in counts.items():
            self.index.count(batch_id, {**amounts, **spent})
            spent = Counter()


def _sent_at(body: Mapping[str, Any]) -> int:
    sent_at = body.get("sentAt")
    if type(sent_at) is not int:
        raise InvalidRequest("sentAt is a time in ms", field="sentAt")
    return sent_at
