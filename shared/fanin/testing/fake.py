"""A client over the production tracker in memory, with its clock, its sweeps, its stream and its bus."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from fanin.api.bus_events.ending_events import confirm, endings
from fanin.arguments import instance, text, whole
from fanin.aws.dynamodb import rows
from fanin.aws.dynamodb.rows import Item
from fanin.client.argument_checks.checking import PAGE_BITS
from fanin.client.fanin import Fanin
from fanin.client.queues.queue import Queue
from fanin.client.transports.direct import DirectTransport
from fanin.item_results.memory import MemoryObjects
from fanin.item_results.service import Results
from fanin.publishing.items import lent_client
from fanin.queue import Options
from fanin.testing.clock import FakeClock
from fanin.testing.queues import FakeQueues
from fanin.testing.sent import SentMessages
from fanin.tracker import Batch, BatchKey, Tracker
from fanin.tracker.dynamodb.items import BATCH_ROW, EVENT_ROW
from fanin.tracker.dynamodb.thresholds import notice_item
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.thresholds import Reached

StreamRecord = dict[str, Any]


@dataclass
class StreamedStore(MemoryStore):
    """Has a stream of its records, as DynamoDB Streams has: of each end of a batch and of each notice.

    *stream*: called with each record before the write returns; with those of its own writes after that.
    """

    stream: Callable[[StreamRecord], None] = field(default=lambda _: None, repr=False, compare=False)
    _records: deque[StreamRecord] = field(default_factory=deque, repr=False, compare=False)

    def next_check_at(self) -> datetime | None:
        """Return the time at which the sweeper checks the next batch; None if it checks none."""
        with self.lock:
            times = [batch.next_check_at for batch in self.batches.values()]
        return min((at for at in times if at is not None), default=None)

    def notice(self, batch: Batch, at: datetime) -> None:
        with self.lock:
            super().notice(batch, at)
            self._record(batch.key, EVENT_ROW)

    def report(self, seen: Batch, reached: Reached) -> bool:
        with self.lock:
            reported = super().report(seen, reached)
            if reported:
                row = notice_item(seen, reached)
                self._record(seen.key, row["sk"]["S"], row)
            return reported

    def _change(
        self, key: BatchKey, admits: Callable[[Batch], bool], change: Callable[[Batch], Batch]
    ) -> Batch | None:
        with self.lock:
            before = self.batches.get(key)
            after = super()._change(key, admits, change)
            if before is not None and after is not None and before.is_alive and not after.is_alive:
                self._record(key, BATCH_ROW)
            return after

    def _record(self, key: BatchKey, sort_key: str, row: Item | None = None) -> None:
        keys = {"pk": rows.text(str(key)), "sk": rows.text(sort_key)}
        self._records.append({"dynamodb": {"Keys": keys, "NewImage": row or keys}})
        if len(self._records) > 1:
            return  # a write of the stream's reader
        while self._records:
            self.stream(self._records[0])
            self._records.popleft()


TENANT = "000000000000"


class FakeFanin(Fanin):
    """A client with all calls about batches and queues, which needs neither AWS nor a network.

    *tenant*: the owner of what it opens. *page_bits*: items in each page. *at*: an aware time at which the
    clock starts, by default the present. Time passes when the test calls ``clock.advance``, or waits.
    """

    def __init__(self, tenant: str = TENANT, *, page_bits: int = 1024, at: datetime | None = None) -> None:
        text(tenant, "a tenant"), whole(page_bits, "page_bits", *PAGE_BITS)
        self.store = StreamedStore(stream=self._publish)
        self.clock = FakeClock(at or datetime.now(UTC), self.store.next_check_at, self._happen)
        no_cache, no_pause = timedelta(0), lambda _: None
        self.tracker = Tracker(
            self.store,
            page_bits,
            no_cache,
            now=self.clock.now,
            pause=no_pause,
            results=Results(MemoryObjects()),
        )
        self.sent = SentMessages()
        self._events: list[dict[str, Any]] = []
        self._lent = FakeTransport(self.tracker, tenant, self.clock, FakeQueues(tenant, self.clock))
        super().__init__(self._lent)
        self._slot.lent = self._lent

    @property
    def events(self) -> list[dict[str, Any]]:
        """The details of the events so far, as they are on the bus, in order."""
        return list(self._events)

    @contextmanager
    def in_place_of(self, fanin: Fanin) -> Iterator[FakeFanin]:
        """Lend the fake's transport to *fanin*, also for the handlers that it has made, within the block.

        What ``fanin.send`` sends in the block is kept in ``sent``.
        """
        slot = instance(fanin, Fanin, "fanin")._slot
        before, slot.lent = slot.lent, self._lent
        try:
            with lent_client(self.sent):
                yield self
        finally:
            slot.lent = before

    def _happen(self) -> None:
        """Do what the system does at the clock's time: sweep and delete rows by age."""
        due = self.store.next_check_at()
        if due is not None and due <= self.clock.now():
            self.tracker.sweep()
        self.store.delete_expired(self.clock.now())
        self._lent.queues.sweep()

    def _publish(self, record: StreamRecord) -> None:
        """Put the event of a record on the bus, and confirm it, which may end the batch of a parent."""
        for detail in endings([record], self.tracker):
            self._events.append(detail)
            confirm(detail, self.tracker)


@dataclass(frozen=True, slots=True)
class FakeTransport(DirectTransport):
    """Calls the tracker of a fake; a wait moves its clock, the *timer*."""

    timer: FakeClock
    queues: FakeQueues

    def queue(self, name: str, options: Options | None) -> Queue:
        return self.queues.queue(name, options, self)
