"""The face of fanin: open a batch, add items to it, close it, ack them, look at it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, overload
from uuid import NAMESPACE_OID, uuid5

from fanin.aws.jobs import JobSettings
from fanin.aws.settings import Tables
from fanin.calling import plain
from fanin.client.adapter import Adapter, hide_by_sqs
from fanin.client.checking import (
    PAGE_BITS,
    PRIORITY_MAX,
    batch_id_given,
    counted,
    deadline_of,
    instance,
    item_id_given,
    json_value,
    key_or_fresh,
    listed_ids,
    listed_ranges,
    mode_of,
    options_given,
    ranged,
    reason_given,
    retention_of,
    state_of,
    text,
    text_or_none,
    transport_given,
    whole,
)
from fanin.client.consumer import (
    MARGIN_SECONDS,
    Consumer,
    Handle,
    Handler,
    Outcomes,
    Record,
    failed_letter,
    handler_of,
)
from fanin.client.items import Items
from fanin.client.model import AckReport, Cancelled, Closed, NewTask, Registered, Status, Summary, TaskStatus
from fanin.client.reasons import reason_of
from fanin.client.transport import Transport, acked, ranged_requests_of, requests_of
from fanin.errors import FaninError
from fanin.queue import Options, Queue
from fanin.tracker import Ack, ItemId, Mode, OpenBatch, Outcome, Retention, Sample, State
from fanin.tracker.ids import COUNT_MAX

logger = logging.getLogger("fanin")


class _Page(Protocol):
    """A part of a list."""

    @property
    def cursor(self) -> Any: ...


P = TypeVar("P", bound=_Page)


class Fanin:
    """A client of the API at a URL, or over a transport made elsewhere; safe in many threads.

    *region*: for AWS signatures, where the URL does not name it; an ``HttpTransport`` takes more.

    Every call that changes something takes an idempotency *key*, 1 to 128 printable ASCII characters:
    repeated with the same key it is the same call. Without one it gets a fresh key, which covers its own
    repetitions. All calls raise the errors of ``fanin.errors``; after StoreUnavailable the outcome is
    unknown, and the same call may be repeated.
    """

    def __init__(self, to: str | Transport, *, region: str | None = None) -> None:
        text_or_none(region, "a region")
        self._transport = _over_http(to, region) if isinstance(to, str) else transport_given(to)

    @classmethod
    def direct(cls, tables: Tables, tenant: str, *, page_bits: int = 1024) -> Self:
        """A client without an API hop: on the *tables* themselves, with this process's credentials.

        *page_bits*: items a page of a batch opened here; a batch keeps what it was opened with.
        """
        from fanin.client.direct import DirectTransport  # noqa: PLC0415  # boto3 takes 0.3 s that HTTP can save

        instance(tables, Tables, "tables")
        text(tenant, "a tenant"), whole(page_bits, "page_bits", *PAGE_BITS)
        return cls(DirectTransport.on(tables, tenant, page_bits))

    def open(
        self,
        user_key: str | None = None,
        *,
        mode: Mode | str = Mode.EXACT,
        expected_items: int | None = None,
        deadline: timedelta | None = None,
        parent: str | ItemId | None = None,
        max_failures: int | None = None,
        retention: Retention | None = None,
        key: str | None = None,
    ) -> Batch:
        """A new batch, or the one that was opened under this *key*. *user_key*: your own name for it.

        *mode*: ``exact``, or ``estimated`` for counters in which a duplicate ack counts twice.
        *expected_items*: close is refused until so many were added. *deadline*: the batch times out so long
        after now, in whole seconds, 1 s to 400 days. *parent*: an item of another batch of yours, which is
        acked when this batch ends, as it ended. *max_failures*: the batch ends once so many items failed.
        """
        key = key_or_fresh(key)
        wish = OpenBatch(
            user_key=text_or_none(user_key, "a user key", "userKey"),
            mode=mode_of(mode),
            retention=retention_of(retention),
            expected_items=counted(expected_items, "expectedItems", 0),
            deadline=deadline_of(deadline),
            parent_item_id=item_id_given(parent, "parentItemId"),
            max_failures=counted(max_failures, "maxFailures", 1),
        )
        return Batch(self, self._transport.open(wish, key), key)

    def get(self, batch_id: str) -> Status:
        """How the batch stands. Raises NotFound."""
        return self._transport.get(batch_id_given(batch_id))

    def add(self, batch_id: str, count: int, *, key: str | None = None) -> Items:
        """Reserve *count* items, 1 to 2^36, in one request.

        Raises NotFound, Conflict where the batch is closed, KeyReused where *key* came with another count.
        """
        return self._transport.add(
            batch_id_given(batch_id), whole(count, "count", 1, COUNT_MAX), key_or_fresh(key)
        )

    def close(self, batch_id: str, *, key: str | None = None) -> Closed:
        """Make the total final; the batch completes once all of it is acked. Raises NotFound."""
        return self._transport.close(batch_id_given(batch_id), key_or_fresh(key))

    def cancel(self, batch_id: str, reason: str | None = None, *, key: str | None = None) -> Cancelled:
        """End the batch without waiting for its items; one that has ended stays as it is. Raises NotFound."""
        return self._transport.cancel(batch_id_given(batch_id), reason_given(reason), key_or_fresh(key))

    def notify(self, batch_id: str, *, key: str | None = None) -> str:
        """Have the ending event sent again; the event's id. Raises NotFound, Conflict before the end."""
        return self._transport.notify(batch_id_given(batch_id), key_or_fresh(key))

    def ack(self, items: Iterable[str | ItemId], *, key: str | None = None) -> AckReport:
        """Mark items done, of any batches, 1,000 a request; an item that had failed is healed.

        Raises InvalidRequest for a malformed id, before anything is sent.
        """
        key = key_or_fresh(key)
        return self._in_parts([Ack.of(str(item), key) for item in listed_ids(items, "ack")], requests_of, key)

    def fail(
        self, items: Iterable[str | ItemId], reason: str | None = None, *, key: str | None = None
    ) -> AckReport:
        """Mark items failed, which ends them too: all as :meth:`ack`. An item that was acked stays done.

        *reason*: in words for people; cut to one line of 512 characters.
        """
        key, why = key_or_fresh(key), reason_given(reason)
        listed = listed_ids(items, "fail")
        failed = [Ack.of(str(item), key, Outcome.FAILURE, why) for item in listed]
        return self._in_parts(failed, requests_of, key)

    def ack_ranges(self, ranges: Iterable[Items], *, key: str | None = None) -> AckReport:
        """Mark ranges of items done, as add, its slices or outstanding give them; 100,000 items a request."""
        key = key_or_fresh(key)
        acks = [ranged(items, key) for items in listed_ranges(ranges, "ack_ranges")]
        return self._in_parts(acks, ranged_requests_of, key)

    def fail_ranges(
        self, ranges: Iterable[Items], reason: str | None = None, *, key: str | None = None
    ) -> AckReport:
        """Mark ranges of items failed: all as :meth:`ack_ranges` and :meth:`fail`."""
        key, why = key_or_fresh(key), reason_given(reason)
        listed = listed_ranges(ranges, "fail_ranges")
        failed = [ranged(items, key, Outcome.FAILURE, why) for items in listed]
        return self._in_parts(failed, ranged_requests_of, key)

    def outstanding(self, batch_id: str) -> Iterator[Items]:
        """What is not acked yet, range by range; pages are asked for as you go through them."""
        return (
            items
            for page in _pages(self._transport.outstanding, batch_id_given(batch_id))
            for items in page.items
        )

    def failures(self, batch_id: str) -> Iterator[Items]:
        """What failed, range by range; pages are asked for as you go through them."""
        return (
            items
            for page in _pages(self._transport.failures, batch_id_given(batch_id))
            for items in page.items
        )

    def samples(self, batch_id: str) -> tuple[Sample, ...]:
        """Reasons of failures, at most 128 of them."""
        return self._transport.failures(batch_id_given(batch_id), None).samples

    def batches(self, user_key: str | None = None, state: State | str | None = None) -> Iterator[Summary]:
        """Batches, newest first: those of a user key, in a state, or all; asked for as you go."""
        wanted = None if state is None else state_of(state)
        named = text_or_none(user_key, "a user key", "userKey")
        ask = partial(self._transport.batches, named, wanted)
        return (batch for page in _pages(ask) for batch in page.batches)

    def task(
        self,
        target: str,
        payload: Any,
        *,
        task_id: str | None = None,
        priority: int = 0,
        item_id: str | ItemId | None = None,
        key: str | None = None,
    ) -> Registered:
        """Have a task done in one call with others of its *target*. *payload*: any JSON value, up to 32 KiB.

        *task_id*: your name for it; the same name is the same task for as long as it is kept, and KeyReused
        where it came with another wish. *priority*: 0 to 999, larger goes first where it can. *item_id*: an
        item of a batch of yours, which is acked with the task's outcome. Over HTTP only.
        """
        wish = NewTask(
            text(target, "a target", "target"),
            json_value(payload),
            text_or_none(task_id, "a task id", "taskId"),
            whole(priority, "priority", 0, PRIORITY_MAX),
            item_id_given(item_id, "itemId"),
        )
        return self._transport.register(wish, key_or_fresh(key))

    def task_status(self, task_id: str) -> TaskStatus:
        """How a task stands, or how it ended. Raises NotFound. Over HTTP only."""
        return self._transport.task(text(task_id, "a task id", "taskId"))

    def queue(self, name: str, at: JobSettings | None = None, options: Options | None = None) -> Queue:
        """The work queue *name*, to add jobs and to take them: on its table itself, with this process's
        credentials. *at*: where it is; by default the environment says. Items of jobs are acked here.
        """
        from fanin.client.jobs import queue_at  # noqa: PLC0415  # as with direct

        at = JobSettings.from_env() if at is None else instance(at, JobSettings, "at")
        options = Options() if options is None else instance(options, Options, "options")
        return queue_at(at, text(name, "a queue's name", "name"), options, self._transport)

    def _in_parts(
        self, acks: Sequence[Ack], cut: Callable[[Sequence[Ack]], Iterator[Sequence[Ack]]], key: str
    ) -> AckReport:
        """Send *acks* in requests, each under a key of its own that follows from *key*."""
        report = AckReport()
        for number, part in enumerate(cut(acks)):
            part_key = key if number == 0 else str(uuid5(NAMESPACE_OID, f"{key}/{number}"))
            report += acked(self._transport, part, part_key)
        return report

    @overload
    def acks(self, handle: Handle, /) -> Handler: ...
    @overload
    def acks(
        self,
        /,
        *,
        item_id: Callable[[Record], str] | None = None,
        on_acked: Callable[[Outcomes], object] | None = None,
        margin_seconds: float = MARGIN_SECONDS,
        fail_after: int | None = None,
    ) -> Callable[[Handle], Handler]: ...
    def acks(
        self,
        handle: Handle | None = None,
        /,
        *,
        item_id: Callable[[Record], str] | None = None,
        on_acked: Callable[[Outcomes], object] | None = None,
        margin_seconds: float = MARGIN_SECONDS,
        fail_after: int | None = None,
    ) -> Handler | Callable[[Handle], Handler]:
        """Make of ``handle(record)`` the Lambda of an SQS queue: success acks, an exception sends back.

        The event source needs ``ReportBatchItemFailures``. *fail_after*: an exception at the so-manieth
        receive of a message, or later, fails its item instead. The arguments are explained at
        ``fanin.client.consumer.Consumer``.
        """
        options_given(item_id, on_acked, margin_seconds, fail_after)

        def decorate(handle: Handle) -> Handler:
            made = Consumer(self._transport, handle, item_id, on_acked, margin_seconds, fail_after)
            return handler_of(made)

        return decorate if handle is None else decorate(handle)

    def dead_letters(self, item_id: Callable[[Record], str] | None = None) -> Handler:
        """The Lambda of a dead-letter queue: every message fails its item, so that its batch can end.

        A message without an item in a batch goes back after growing pauses. *item_id*: record -> item id.
        """
        ack_of = partial(failed_letter, item_id=plain(item_id, "item_id"))
        return handler_of(Adapter(self._transport, ack_of=ack_of, hide=hide_by_sqs))


class Batch:
    """A batch in the hands of the one who opened it.

    As a context it is closed where its block ends. Where the block raises, the batch is cancelled, so that
    nothing completes half-filled, and the exception goes on with a note that says so; unless it was closed
    before. A forked child leaves its parent's block without a request. *closed* is the answer of close.
    """

    def __init__(self, fanin: Fanin, batch_id: str, key: str) -> None:
        self.id = batch_id
        self.closed: Closed | None = None
        self._entered_in: int | None = None
        self._fanin = fanin
        self._key = key

    def add(self, count: int, *, key: str | None = None) -> Items:
        """Reserve *count* items, at once and in one request; their ids are made as you go through them."""
        return self._fanin.add(self.id, count, key=key)

    def close(self) -> Closed:
        """Make the total final. Asked again it answers again, as it is the same call."""
        self.closed = self._fanin.close(self.id, key=self._key)
        return self.closed

    def cancel(self, reason: str | None = None) -> Cancelled:
        """End the batch without waiting for its items. Asked again it answers again."""
        return self._fanin.cancel(self.id, reason)

    def notify(self) -> str:
        """Have the ending event sent again; the event's id."""
        return self._fanin.notify(self.id)

    def status(self) -> Status:
        """How the batch stands."""
        return self._fanin.get(self.id)

    def outstanding(self) -> Iterator[Items]:
        """What is not acked yet, range by range."""
        return self._fanin.outstanding(self.id)

    def failures(self) -> Iterator[Items]:
        """What failed, range by range."""
        return self._fanin.failures(self.id)

    def samples(self) -> tuple[Sample, ...]:
        """Reasons of failures, at most 128 of them."""
        return self._fanin.samples(self.id)

    def __enter__(self) -> Self:
        self._entered_in = os.getpid()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.closed is not None or self._entered_in != os.getpid():
            return
        if error is None:
            self.close()
        else:
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        """Cancel for *error*, which matters more to the caller than whether that was possible."""
        try:
            state = self.cancel(reason_of(error)).state
            outcome = f"batch {self.id} is {state}: its block raised"
        except FaninError as refusal:
            outcome = f"batch {self.id} could not be cancelled, though its block raised: {refusal}"
        logger.warning(outcome)
        error.add_note(outcome)

    def __repr__(self) -> str:
        return f"<Batch {self.id}>"


def _pages(ask: Callable[..., P], *arguments: str) -> Iterator[P]:
    """The pages of a list, each asked for when it is needed."""
    page = ask(*arguments, None)
    yield page
    while page.cursor is not None:
        page = ask(*arguments, page.cursor)
        yield page


def _over_http(url: str, region: str | None) -> Transport:
    from fanin.client.http import HttpTransport  # noqa: PLC0415  # urllib3 is for those who speak HTTP

    return HttpTransport(url, region=region)
