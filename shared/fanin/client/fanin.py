"""The client: opens batches, adds and acks items, closes and reads batches, registers tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Self, Unpack
from uuid import NAMESPACE_OID, uuid4, uuid5

from fanin.arguments import Seconds, instance, text, text_or_none, whole
from fanin.client.argument_checks.checking import (
    PAGE_BITS,
    acks_with_results,
    asked_range,
    batch_id_given,
    is_range,
    key_or_fresh,
    listed_ids,
    listed_ranges,
    ranged,
    reason_given,
    token_seconds,
    window_of,
)
from fanin.client.argument_checks.filtering import FilterOptions, filter_given
from fanin.client.argument_checks.naming import named_as_arguments
from fanin.client.argument_checks.opening import OpenOptions, spec_of
from fanin.client.argument_checks.publishing import PublicationOptions, publication_of
from fanin.client.batch import Batch, Reopened, need_key
from fanin.client.consuming.consumers import Consumers
from fanin.client.handing_over.children import opened
from fanin.client.handing_over.handing import add_key, new_owner, tasks_key
from fanin.client.handing_over.under_work import note_reports, refuse_unmatched
from fanin.client.http_bodies.paging import pages
from fanin.client.items import Items, adjacent
from fanin.client.model import Cancelled, Closed, Deleted, Failures, Publication, Ranges, Status, Summary
from fanin.client.queues.queue_calls import QueueCalls
from fanin.client.result_files import batch_of_results, read_results
from fanin.client.task_model import NewTask, Registered, TaskStatus
from fanin.client.tasks import Tasks, task_given
from fanin.client.timer import REAL
from fanin.client.tracing import carried_of
from fanin.client.transports.batch_names import named_batch
from fanin.client.transports.environment import (
    ENVIRONMENT,
    Connection,
    ConnectionOptions,
    Direct,
    Environment,
    To,
    maker_of,
)
from fanin.client.transports.reports import AckReport
from fanin.client.transports.slot import TransportSlot
from fanin.client.transports.transport import acked, ranged_requests_of, requests_of
from fanin.client.waiting import Waiting
from fanin.errors import FaninError, InvalidRequest
from fanin.item_ids import checked_item_id
from fanin.settings.tracking import Tables
from fanin.tracker import Ack, BatchMap, GroupId, ItemId, Outcome, Sample, State
from fanin.tracker.batch_changes.reopening import ReopenBatch, ReopenItems
from fanin.tracker.reads.mapping import CELLS_MAX
from fanin.tracker.reads.progress_tokens import LIFETIME
from fanin.tracker.reads.walking import joined
from fanin.tracker.rules.ids import COUNT_MAX
from fanin.types import ReopenItemsText, StateText

logger = logging.getLogger("fanin")
NOT_PICKLED = (
    "a client with a session is not pickled, because its credentials stay in their process: make"
    " Fanin(url, session=...) where it is used, or leave session out, so that each process finds its own"
)
KEYED_MAX = 10_000
"""Batches under keys that a client remembers."""


class Fanin(Consumers, QueueCalls, Waiting):
    """A thread-safe client of the API at a URL, or over a given transport.

    Without one, the first call reads the environment: ``FANIN_URL``, or ``FANIN_BATCHES_TABLE``,
    ``FANIN_PAGES_TABLE`` and ``FANIN_TENANT``.
    *token*: sent in place of AWS signatures, by default ``FANIN_TOKEN``. *timeout*: seconds that a call may
    take with all its *attempts*, 60 and 5. *session*: of boto3, whose credentials sign. *region*: that of the
    signatures, if the URL does not contain it. A pickled client connects anew where it is loaded; one with a
    session is not pickled.
    Every call that writes takes an idempotency *key*, 1 to 128 printable ASCII characters; a call that is
    repeated with its key has no further effect. Without one the client generates a key for its own retries.
    All calls raise the errors of ``fanin.errors``; after StoreUnavailable, repeat the call with its key.
    """

    def __init__(self, to: To = ENVIRONMENT, **connection: Unpack[ConnectionOptions]) -> None:
        self._given = to, connection
        self._slot = TransportSlot(maker_of(to, Connection(**connection)))
        self._transport = self._slot.as_transport()
        self._keyed: set[str] = set()
        self._pause = REAL.sleep

    def __reduce__(self) -> Any:
        """Return how a copy is made, which connects anew: for Spark, Celery and multiprocessing."""
        to, connection = self._given
        if connection.get("session") is not None:
            raise InvalidRequest(NOT_PICKLED, field="session")
        return partial(type(self), **connection), (to,)

    def __repr__(self) -> str:
        to, _ = self._given
        shown = to if isinstance(to, str | Environment | Direct) else type(to).__name__
        return f"<{type(self).__name__} {shown}>"

    @classmethod
    def direct(
        cls,
        tables: Tables,
        tenant: str,
        *,
        page_bits: int = 1024,
        bus: str | None = None,
        results_bucket: str | None = None,
    ) -> Self:
        """Return a client that reads and writes *tables* with the credentials of this process.

        *page_bits*: items in each page of the batches that it opens; a batch keeps its own. *bus*: the
        name of the stack's bus, on which the client puts the event of a batch that it completes at once.
        *results_bucket*: the name of the stack's bucket of results.
        """
        instance(tables, Tables, "tables")
        text(tenant, "a tenant"), whole(page_bits, "page_bits", *PAGE_BITS), text_or_none(bus, "a bus")
        text_or_none(results_bucket, "results_bucket")
        return cls(Direct(tables, tenant, page_bits, bus, results_bucket))

    def open(
        self, user_key: str | None = None, *, key: str | None = None, **options: Unpack[OpenOptions]
    ) -> Batch:
        """Open a batch, or return the one opened under this *key*. *user_key*: yours, to find it.

        *options*: those of ``OpenOptions``; more in docs/client.md. Raises KeyReused if *key* came with other
        options, and BatchEnded if its batch has ended.
        """
        spec = spec_of(user_key, options)
        batch_id, used, work = opened(self._transport, spec, key)
        if key is not None:
            self._note_keyed(batch_id)
        return Batch(
            self,
            batch_id,
            used,
            work,
            is_keyed=key is not None,
            expected_items=spec.expected_items,
            carried=carried_of(spec),
        )

    def publish_object(
        self, source: str, queue: str, *, key: str | None = None, **options: Unpack[PublicationOptions]
    ) -> Batch:
        """Let the stack publish the rows of an object of S3, and return their batch, which it closes.

        *source*: ``s3://BUCKET/KEY`` of JSON lines or CSV. *queue*: the ARN of a queue. *options*: those of
        ``PublicationOptions``. Without a *key*, each call publishes all rows again. Raises InvalidRequest for
        an object that does not exist, or that the setting of the stack does not allow, KeyReused and
        BatchEnded as :meth:`open` does. Over HTTP only.
        """
        body, used = publication_of(source, queue, options), key_or_fresh(key)
        batch_id = self._transport.publish_object(body, used)
        return Batch(self, batch_id, used, is_keyed=key is not None, is_closed_by_stack=True)

    def publication(self, batch_id: str) -> Publication:
        """Return how far the publication of a batch is. Raises NotFound. Over HTTP only."""
        return self._transport.publication(batch_id_given(batch_id))

    def batch(self, name: str) -> Batch:
        """Return the batch that *name* is the id of, or the newest one of that user key.

        Raises NotFound, and Conflict if two live batches have the key: give the id then.
        """
        return Batch(self, self._id_of(name), str(uuid4()))

    def status(self, batch: str) -> Status:
        """Return the state and progress of a batch, by its id or its user key, as :meth:`batch` finds it."""
        return self._transport.get(self._id_of(batch))

    def _id_of(self, name: str) -> str:
        return named_batch(self._transport, name, self._pause if self._slot.lent is None else None)

    def progress_token(self, batch_id: str, *, expires: Seconds = LIFETIME) -> str:
        """Return a token with which a web page reads the progress of the batch, and nothing else.

        *expires*: after so many seconds, 1 to 604,800, or a timedelta. The stack answers to it with the
        setting ``progress_tokens``. Raises NotFound.
        """
        return self._transport.progress_token(batch_id_given(batch_id), token_seconds(expires))

    def map(
        self, batch_id: str, *, cells: int = CELLS_MAX, start: int = 0, stop: int | None = None
    ) -> BatchMap:
        """Return how many of the items *start* to *stop* (exclusive) of the batch are done, cell by cell.

        *cells*: how many there are at most, 1 to 1,024. *stop*: by default the total. Raises NotFound.
        """
        return self._transport.map(batch_id_given(batch_id), *window_of(cells, start, stop))

    def add(self, batch_id: str, count: int, *, key: str | None = None) -> Items:
        """Reserve *count* items, 1 to 2^36, in one request, and return their ids.

        *key*: repeated with it, the call returns the same items; without it, each call adds *count* more, and
        is refused if this client opened the batch under a key. Raises NotFound, Conflict if the batch is
        closed, BatchEnded if it has ended, and KeyReused if *key* came with another count.
        """
        batch_id, count = batch_id_given(batch_id), whole(count, "count", 1, COUNT_MAX)
        if key is None and batch_id in self._keyed:
            need_key(batch_id)
        with add_key(batch_id, key) as used:
            return self._transport.add(batch_id, count, used)

    def close(self, batch_id: str, *, key: str | None = None) -> Closed:
        """Make the total final, so that the batch completes once all items are acked.

        Raises NotFound, Conflict if fewer items were added than the batch expects, and BatchEnded if it has
        ended before its items were done.
        """
        return self._transport.close(batch_id_given(batch_id), key_or_fresh(key))

    def cancel(
        self, batch_id: str, reason: str | None = None, *, children: bool = False, key: str | None = None
    ) -> Cancelled:
        """End the batch without waiting for its items; with *children*, each live batch below it, too.

        The first 100 below it have ended when this returns, the others within minutes. Raises NotFound, and
        BatchEnded if the batch has ended otherwise.
        """
        why, used = reason_given(reason), key_or_fresh(key)
        return self._transport.cancel(
            batch_id_given(batch_id), why, used, instance(children, bool, "children", "children")
        )

    def children(self, of: str | ItemId, *, done: bool = False) -> Iterator[Summary]:
        """Yield the children of a batch's items, or of one item, in the order of the items.

        *of*: the id of the batch, or of the item. A child is live, or its end has failed its item. *done*:
        those too whose ends did not fail their items, the first 100 of an item, without a sign of others.
        Raises NotFound.
        """
        done = instance(done, bool, "done", "done")
        item_id = (
            checked_item_id(of, "of")
            if isinstance(of, ItemId) or ":" in text(of, "a batch or an item", "of")
            else None
        )
        batch_id = batch_id_given(str(of)) if item_id is None else ItemId.parse(item_id).batch_id
        ask = partial(self._transport.children, batch_id, item_id, done)
        return (batch for page in pages(ask) for batch in page.batches)

    def notify(self, batch_id: str, *, key: str | None = None) -> str:
        """Send the ending event again and return its id. Raises NotFound, and Conflict for a live batch."""
        return self._transport.notify(batch_id_given(batch_id), key_or_fresh(key))

    def ack(
        self,
        items: Iterable[str | ItemId],
        *,
        results: Mapping[str, Any] | Sequence[Any] | None = None,
        key: str | None = None,
    ) -> AckReport:
        """Mark items of any batches as done, 1,000 in each request; an item that had failed is healed.

        *results*: values of JSON, for batches that were opened with ``results``: one for each item, or a dict
        by item id; an item that it lacks has none. Without them, the ``Items`` of an add are sent as ranges:
        see :meth:`ack_ranges`. An ack that is repeated under its *key* with another result may store it, too:
        one of the two is chosen, for good.
        """
        caller = key_or_fresh(key)
        if results is None and is_range(items):
            return self.ack_ranges(items, key=key)
        acks = acks_with_results(listed_ids(items, "ack"), caller, results)
        return self._in_parts(acks, requests_of, key)

    def fail(
        self,
        items: Iterable[str | ItemId],
        reason: str | BaseException | None = None,
        *,
        key: str | None = None,
    ) -> AckReport:
        """Mark items as failed, which is terminal, too; an item that was acked stays done.

        Otherwise like :meth:`ack`. *reason*: an exception, or text, cut to one line of 512 characters.
        """
        caller, why = key_or_fresh(key), reason_given(reason)
        if is_range(items):
            return self.fail_ranges(items, reason, key=key)
        listed = listed_ids(items, "fail")
        failed = [Ack.of(item, caller, Outcome.FAILURE, why) for item in listed]
        return self._in_parts(failed, requests_of, key)

    def ack_ranges(self, ranges: Items | Iterable[Items], *, key: str | None = None) -> AckReport:
        """Mark ranges, or one, as done, which add and outstanding return; 100,000 items in each request."""
        caller = key_or_fresh(key)
        acks = [ranged(items, caller) for items in listed_ranges(ranges, "ack_ranges")]
        return self._in_parts(acks, ranged_requests_of, key)

    def fail_ranges(
        self,
        ranges: Items | Iterable[Items],
        reason: str | BaseException | None = None,
        *,
        key: str | None = None,
    ) -> AckReport:
        """Mark ranges as failed; see :meth:`ack_ranges` and :meth:`fail`."""
        caller, why = key_or_fresh(key), reason_given(reason)
        listed = listed_ranges(ranges, "fail_ranges")
        failed = [ranged(items, caller, Outcome.FAILURE, why) for items in listed]
        return self._in_parts(failed, ranged_requests_of, key)

    def reopen(
        self,
        batch_id: str,
        *,
        items: ReopenItems | ReopenItemsText = ReopenItems.FAILED,
        user_key: str | None = None,
        deadline: Seconds | None = None,
        max_failures: int | None = None,
        labels: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Reopened:
        """Open a new batch for the failed *items* of an ended one, or for all that are ``unfinished``.

        Options that are not given are those of the origin. Raises NotFound, Conflict if the batch is live or
        has no such items, and BatchEnded if the batch that was opened under this *key* has ended.
        """
        time: Any = deadline  # its option makes it a timedelta
        with named_as_arguments():
            request = ReopenBatch(
                origin_batch_id=batch_id_given(batch_id),
                items=_items_of(items),
                user_key=user_key,
                labels=labels,
                deadline=time,
                max_failures=max_failures,
            )
        used = key_or_fresh(key)
        items_of_new = self._transport.reopen(request, used)
        return Reopened(self, items_of_new, batch_id, used, key is not None)

    def pairs(self, batch_id: str) -> Iterator[tuple[str, str]]:
        """Yield (id of the origin's item, id of the new item) of a reopened batch, one request a page.

        Raises NotFound when the origin is no longer kept, Conflict if the batch was not reopened from
        another one, and FaninError at the end if the pairs are not as many as the items.
        """
        yielded, total = 0, -1
        for page in pages(self._transport.origin, batch_id_given(batch_id)):
            for old, new in page.pairs:
                yield from zip(old, new, strict=True)
                yielded, total = yielded + len(new), _upto(new)
        if yielded != total:
            raise FaninError(f"batch {batch_id} has {total} items, which stand for {yielded} of its origin")

    def end(self, batch_id: str, reason: str, *, key: str | None = None) -> Cancelled:
        """End the batch as failed, with the result ``forced``.

        *reason*: required; the batch and its ending event keep it with the caller's name. Raises NotFound,
        and BatchEnded if it has ended otherwise.
        """
        why = reason_given(reason)
        if why is None:
            raise InvalidRequest("the end of a batch is forced with a reason", field="reason")
        return self._transport.end(batch_id_given(batch_id), why, key_or_fresh(key))

    def delete(self, batch_id: str) -> None:
        """Remove the user data of an ended batch; it is not found from then on. It may be repeated.

        Raises NotFound, and Conflict if the batch is live or its ending event is not confirmed yet.
        """
        self._transport.delete(batch_id_given(batch_id))

    def delete_ended(self, before: datetime) -> Deleted:
        """Delete all batches that ended before a time, which has a time zone, one request for each part."""
        if not isinstance(before, datetime) or before.tzinfo is None:
            raise InvalidRequest(
                "the time before which batches ended is a datetime with a time zone", field="before"
            )
        total = Deleted(0, 0)
        for part in pages(partial(self._transport.delete_ended, before)):
            total = Deleted(total.deleted + part.deleted, total.unconfirmed + part.unconfirmed)
        return total

    def outstanding(self, batch_id: str) -> Iterator[Items]:
        """Yield the ranges of items that are not acked yet; those that touch are one, also across pages."""
        return _ranges(pages(self._transport.outstanding, batch_id_given(batch_id)))

    def outstanding_of(self, items: Items, *, failed: bool = False) -> tuple[Items, ...]:
        """Return those of a range of at most 10,000 *items* that are outstanding, by one consistent read.

        *failed*: also those that have failed, so that all others are done with success. Raises NotFound.
        """
        asked = ranged(asked_range(items), "")
        return self._transport.outstanding_of(asked.batch_id, asked.group_id, asked.first, asked.last, failed)

    def failures(self, batch_id: str) -> Iterator[Items]:
        """Yield the ranges of failed items; those that touch are one, also across pages."""
        return _ranges(pages(self._transport.failures, batch_id_given(batch_id)))

    def samples(self, batch_id: str) -> tuple[Sample, ...]:
        """Return the reasons of failures, at most 128."""
        return self._transport.failures(batch_id_given(batch_id), None).samples

    def results(
        self, batch: str | Mapping[str, Any], *, after: str | ItemId | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Yield the id and the result of each item that has one, in the order of the items.

        *batch*: the id of an ended batch that was opened with ``results``, or the detail of its ending event.
        *after*: an item; only those behind it. What comes out is the same at every read. Raises NotFound,
        Conflict for a live batch, and StoreUnavailable if the results are not gathered in time: read again.
        """
        batch_id = batch_id_given(batch_of_results(batch))
        return read_results(self._transport, batch_id, checked_item_id(after, "after"))

    def batches(
        self,
        user_key: str | None = None,
        state: State | StateText | None = None,
        label: str | None = None,
        **more: Unpack[FilterOptions],
    ) -> Iterator[Summary]:
        """Yield batches, newest first: of a user key, in a state, with a label ``key:value``, or all.

        *more*: ``user_key_prefix``; ``condition``, one of ``live``, ``problems`` (live, with failed items or
        a reported stall) and ``endedBadly``; ``opened_from`` and ``opened_to``, aware times, the second one
        exclusive.
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
        new = task_given(NewTask(target, payload, task_id, priority, checked_item_id(item_id, "item_id")))
        with new_owner(new.item_id):
            return self._transport.register(new, tasks_key([new], key))

    @property
    def tasks(self) -> Tasks:
        """Many tasks at once, and the lists of tasks, bundles and targets. Over HTTP only."""
        return Tasks(self._transport)

    def task_status(self, task_id: str) -> TaskStatus:
        """Return the state of a task. Raises NotFound. Over HTTP only."""
        return self._transport.task(text(task_id, "a task id", "task_id"))

    def _note_keyed(self, batch_id: str) -> None:
        """Note that a batch was opened under a key, among the latest ones of this client."""
        if len(self._keyed) >= KEYED_MAX:
            self._keyed.clear()
        self._keyed.add(batch_id)

    def _in_parts(
        self, acks: Sequence[Ack], cut: Callable[[Sequence[Ack]], Iterator[Sequence[Ack]]], key: str | None
    ) -> AckReport:
        """Send *acks* in requests, each with its own key derived from *key*, if the user gave one."""
        note_reports(acks)
        report = AckReport()
        for number, part in enumerate(cut(acks)):
            part_key = key if key is None or number == 0 else str(uuid5(NAMESPACE_OID, f"{key}/{number}"))
            report += acked(self._transport.ack, part, part_key)
        refuse_unmatched(report, failed=any(ack.outcome is Outcome.FAILURE for ack in acks))
        return report


def _ranges(parts: Iterable[Ranges | Failures]) -> Iterator[Items]:
    """Yield the ranges of the pages of a list; those that touch become one."""
    return joined((items for part in parts for items in part.items), adjacent)


def _items_of(items: ReopenItems | str) -> ReopenItems:
    if not isinstance(items, str) or items not in set(ReopenItems):
        raise InvalidRequest("the items to reopen are failed or unfinished", field="items")
    return ReopenItems(items)


def _upto(items: Items) -> int:
    """Return the number of items in the group of *items*."""
    group = GroupId.decode(items.group_id)
    return group.upto if group else len(items)
