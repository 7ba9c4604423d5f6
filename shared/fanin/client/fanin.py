"""The client: opens batches, adds and acks items, closes and reads batches, registers tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Self, Unpack
from uuid import NAMESPACE_OID, uuid5

from fanin.aws.settings import Tables
from fanin.client.batch import Batch
from fanin.client.checking import (
    PAGE_BITS,
    batch_id_given,
    instance,
    item_id_given,
    key_or_fresh,
    listed_ids,
    listed_range,
    listed_ranges,
    ranged,
    reason_given,
    text,
    text_or_none,
    whole,
    window_of,
)
from fanin.client.children import opened
from fanin.client.consumers import Consumers
from fanin.client.environment import ENVIRONMENT, Environment, maker_of
from fanin.client.filtering import FilterOptions, filter_given
from fanin.client.handing import add_key, taken_over, tasks_key
from fanin.client.items import Items
from fanin.client.model import Cancelled, Closed, NewTask, Registered, Status, Summary, TaskStatus
from fanin.client.opening import OpenOptions, spec_of
from fanin.client.paging import pages
from fanin.client.queue_admin import QueueAdministration
from fanin.client.queue_calls import QueueCalls
from fanin.client.repairs import Repairs
from fanin.client.reports import AckReport
from fanin.client.slot import TransportSlot
from fanin.client.tasks import Tasks, task_given
from fanin.client.transport import Transport, acked, ranged_requests_of, requests_of
from fanin.client.waiting import Waiting
from fanin.tracker import Ack, BatchMap, ItemId, Outcome, Sample, State
from fanin.tracker.ids import COUNT_MAX
from fanin.tracker.mapping import CELLS_MAX

logger = logging.getLogger("fanin")


class Fanin(Consumers, Repairs, QueueCalls, QueueAdministration, Waiting):
    """A thread-safe client of the API at a URL, or over a given transport.

    Without one, the first call reads the environment: ``FANIN_URL``, or ``FANIN_BATCHES_TABLE``,
    ``FANIN_PAGES_TABLE`` and ``FANIN_TENANT``.
    *region*: the region of the AWS signatures, if the URL does not contain it.
    Every call that writes takes an idempotency *key*, 1 to 128 printable ASCII characters; a call that is
    repeated with its key has no further effect. Without one the client generates a key for its own retries.
    All calls raise the errors of ``fanin.errors``; after StoreUnavailable, repeat the call with its key.
    """

    def __init__(self, to: str | Transport | Environment = ENVIRONMENT, *, region: str | None = None) -> None:
        text_or_none(region, "a region")
        self._slot = TransportSlot(maker_of(to, region))
        self._transport = self._slot.as_transport()

    @classmethod
    def direct(cls, tables: Tables, tenant: str, *, page_bits: int = 1024, bus: str | None = None) -> Self:
        """Return a client that reads and writes *tables* with the credentials of this process.

        *page_bits*: items in each page of the batches that it opens; a batch keeps its own. *bus*: the
        name of the stack's bus, on which the client puts the event of a batch that it completes at once.
        """
        from fanin.client.direct import DirectTransport  # noqa: PLC0415  # importing boto3 takes 0.3 s

        instance(tables, Tables, "tables")
        text(tenant, "a tenant"), whole(page_bits, "page_bits", *PAGE_BITS), text_or_none(bus, "a bus")
        return cls(DirectTransport.on(tables, tenant, page_bits, bus))

    def open(
        self, user_key: str | None = None, *, key: str | None = None, **options: Unpack[OpenOptions]
    ) -> Batch:
        """Open a batch, or return the one opened under this *key*. *user_key*: yours, to find it.

        *options*: those of ``OpenOptions``; more in docs/client.md.
        """
        return Batch(self, *opened(self._transport, spec_of(user_key, options), key))

    def get(self, batch_id: str) -> Status:
        """Return the state and progress of the batch. Raises NotFound."""
        return self._transport.get(batch_id_given(batch_id))

    def map(
        self, batch_id: str, *, cells: int = CELLS_MAX, start: int = 0, stop: int | None = None
    ) -> BatchMap:
        """Return how many of the items *start* to *stop* (exclusive) of the batch are done, cell by cell.

        *cells*: how many there are at most, 1 to 1,024. *stop*: by default the total. Raises NotFound.
        """
        return self._transport.map(batch_id_given(batch_id), *window_of(cells, start, stop))

    def add(self, batch_id: str, count: int, *, key: str | None = None) -> Items:
        """Reserve *count* items, 1 to 2^36, in one request, and return their ids.

        Raises NotFound, Conflict if the batch is closed, KeyReused if *key* came with another count.
        """
        batch_id, count = batch_id_given(batch_id), whole(count, "count", 1, COUNT_MAX)
        with add_key(batch_id, key) as used:
            return self._transport.add(batch_id, count, used)

    def close(self, batch_id: str, *, key: str | None = None) -> Closed:
        """Make the total final, so that the batch completes once all items are acked. Raises NotFound."""
        return self._transport.close(batch_id_given(batch_id), key_or_fresh(key))

    def cancel(self, batch_id: str, reason: str | None = None, *, key: str | None = None) -> Cancelled:
        """End the batch without waiting for its items, unless it has ended before. Raises NotFound."""
        return self._transport.cancel(batch_id_given(batch_id), reason_given(reason), key_or_fresh(key))

    def notify(self, batch_id: str, *, key: str | None = None) -> str:
        """Send the ending event again and return its id. Raises NotFound, and Conflict for a live batch."""
        return self._transport.notify(batch_id_given(batch_id), key_or_fresh(key))

    def ack(self, items: Iterable[str | ItemId], *, key: str | None = None) -> AckReport:
        """Mark items of any batches as done, 1,000 in each request; an item that had failed is healed."""
        key = key_or_fresh(key)
        return self._in_parts([Ack.of(str(item), key) for item in listed_ids(items, "ack")], requests_of, key)

    def fail(
        self, items: Iterable[str | ItemId], reason: str | None = None, *, key: str | None = None
    ) -> AckReport:
        """Mark items as failed, which is terminal, too; an item that was acked stays done.

        Otherwise like :meth:`ack`. *reason*: text for people, cut to one line of 512 characters.
        """
        key, why = key_or_fresh(key), reason_given(reason)
        listed = listed_ids(items, "fail")
        failed = [Ack.of(str(item), key, Outcome.FAILURE, why) for item in listed]
        return self._in_parts(failed, requests_of, key)

    def ack_ranges(self, ranges: Iterable[Items], *, key: str | None = None) -> AckReport:
        """Mark ranges as done, which add and outstanding return; 100,000 items in each request."""
        key = key_or_fresh(key)
        acks = [ranged(items, key) for items in listed_ranges(ranges, "ack_ranges")]
        return self._in_parts(acks, ranged_requests_of, key)

    def fail_ranges(
        self, ranges: Iterable[Items], reason: str | None = None, *, key: str | None = None
    ) -> AckReport:
        """Mark ranges as failed; see :meth:`ack_ranges` and :meth:`fail`."""
        key, why = key_or_fresh(key), reason_given(reason)
        listed = listed_ranges(ranges, "fail_ranges")
        failed = [ranged(items, key, Outcome.FAILURE, why) for items in listed]
        return self._in_parts(failed, ranged_requests_of, key)

    def outstanding(self, batch_id: str) -> Iterator[Items]:
        """Yield the ranges of items that are not acked yet, one request for each page."""
        return (
            items
            for page in pages(self._transport.outstanding, batch_id_given(batch_id))
            for items in page.items
        )

    def left(self, items: Items, *, failed: bool = False) -> tuple[Items, ...]:
        """Return those of a range of at most 10,000 *items* that are outstanding, by one consistent read.

        *failed*: also those that have failed, so that all others are done with success. Raises NotFound.
        """
        asked = ranged(listed_range(items), "")
        return self._transport.left(asked.batch_id, asked.group_id, asked.first, asked.last, failed)

    def failures(self, batch_id: str) -> Iterator[Items]:
        """Yield the ranges of failed items, one request for each page."""
        return (
            items
            for page in pages(self._transport.failures, batch_id_given(batch_id))
            for items in page.items
        )

    def samples(self, batch_id: str) -> tuple[Sample, ...]:
        """Return the reasons of failures, at most 128."""
        return self._transport.failures(batch_id_given(batch_id), None).samples

    def batches(
        self,
        user_key: str | None = None,
        state: State | str | None = None,
        label: str | None = None,
        **more: Unpack[FilterOptions],
    ) -> Iterator[Summary]:
        """Yield batches, newest first: of a user key, in a state, with a label ``key:value``, or all.

        *more*: the beginning of the user key, and times of opening; see ``FilterOptions``.
        """
        wanted = filter_given(user_key, state, label, more)
        ask = partial(self._transport.batches, wanted)
        return (batch for page in pages(ask) for batch in page.batches)

    def task(
        self,
        target: str | None,
        payload: Any,
        *,
        task_id: str | None = None,
        priority: int = 0,
        item_id: str | ItemId | None = None,
        key: str | None = None,
    ) -> Registered:
        """Register a task for *target*, which is bundled with others. *payload*: JSON, up to 32 KiB.

        *target*: None if the stack computes it. *task_id*: your name for the task; the same name returns the
        stored task, and raises KeyReused if the request differs. *priority*: 0 to 999, larger goes first.
        *item_id*: an item of a batch of the tenant, acked with the task's outcome. Over HTTP only.
        """
        new = task_given(NewTask(target, payload, task_id, priority, item_id_given(item_id, "item_id")))
        with taken_over(new.item_id):
            return self._transport.register(new, tasks_key([new], key))

    @property
    def tasks(self) -> Tasks:
        """Many tasks at once, and the lists of tasks, bundles and targets. Over HTTP only."""
        return Tasks(self._transport)

    def task_status(self, task_id: str) -> TaskStatus:
        """Return the state of a task. Raises NotFound. Over HTTP only."""
        return self._transport.task(text(task_id, "a task id", "task_id"))

    def _in_parts(
        self, acks: Sequence[Ack], cut: Callable[[Sequence[Ack]], Iterator[Sequence[Ack]]], key: str
    ) -> AckReport:
        """Send *acks* in requests, each with its own key derived from *key*."""
        report = AckReport()
        for number, part in enumerate(cut(acks)):
            part_key = key if number == 0 else str(uuid5(NAMESPACE_OID, f"{key}/{number}"))
            report += acked(self._transport, part, part_key)
        return report
