"""The client's Lambda handlers: consumers of an SQS queue and of its dead-letter queue."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Unpack, overload

from fanin import errors
from fanin.arguments import Seconds, instance
from fanin.aws.messaging.queue_urls import checked_queue
from fanin.client.ack_logs import logging_to
from fanin.client.argument_checks.checking import options_given
from fanin.client.consuming.adapter import Adapter, hide_by_sqs
from fanin.client.consuming.chunk_consumer import EachConsumer, HandleItem, each_handler_of
from fanin.client.consuming.consumer import (
    MARGIN_SECONDS,
    Consumer,
    Handle,
    Handler,
    handler_of,
)
from fanin.client.consuming.records import dead_letter_message_ack
from fanin.client.consuming.settling import Outcomes
from fanin.client.consuming.skipping import is_over
from fanin.client.handing_over.under_work import current, hand_over
from fanin.client.sqs_worker.handlers import WorkOptions, consumer_of
from fanin.client.transports.transport import Transport
from fanin.isolating import Record
from fanin.item_ids import checked_item_id
from fanin.tracker import ItemId
from fanin.types import Returned
from fanin.user_functions import synchronous

if TYPE_CHECKING:
    from fanin.client.sqs_worker.messages import WorkSummary


class Consumers:
    """Makes the handlers of Lambda functions that SQS feeds."""

    Failed = errors.Failed
    """What a function raises to fail its item for good: ``raise fanin.Failed("not a JPEG")``."""

    _transport: Transport

    @overload
    def acks(self, handle: Handle, /) -> Handler: ...
    @overload
    def acks(
        self,
        /,
        *,
        item_id: Callable[[Record], str] | None = None,
        on_acked: Callable[[Outcomes], Returned] | None = None,
        margin_seconds: Seconds = MARGIN_SECONDS,
        fail_after: int | None = None,
        skip_done: bool = False,
        results: bool = False,
        log: str | None = None,
    ) -> Callable[[Handle], Handler]: ...
    def acks(
        self,
        handle: Handle | None = None,
        /,
        *,
        item_id: Callable[[Record], str] | None = None,
        on_acked: Callable[[Outcomes], Returned] | None = None,
        margin_seconds: Seconds = MARGIN_SECONDS,
        fail_after: int | None = None,
        skip_done: bool = False,
        results: bool = False,
        log: str | None = None,
    ) -> Handler | Callable[[Handle], Handler]:
        """Return the Lambda handler of an SQS queue that calls ``handle(record)`` for each message.

        If it returns, the item is acked, unless it was handed over; if it raises ``Failed``, the item fails
        for good; if it raises anything else, the message returns to the queue. The event source needs
        ``ReportBatchItemFailures``. The options are those of ``fanin.client.consuming.consumer.Consumer``.
        *log*: the prefix of S3 to which acks go in place of the tables, for ``bulk_ack``: docs/pipeline.md.
        """
        margin = options_given(item_id, on_acked, margin_seconds, fail_after)
        instance(skip_done, bool, "skip_done"), instance(results, bool, "results")
        given = (item_id, on_acked, margin, fail_after)
        transport = logging_to(self._transport, log, results)

        def decorate(handle: Handle) -> Handler:
            return handler_of(Consumer(transport, handle, *given, skip_done=skip_done, results=results))

        return decorate if handle is None else decorate(handle)

    def hand_over(self, item: str | ItemId | None = None) -> None:
        """Leave an item to its new owner, which acks it: the message is deleted when the function returns.

        *item*: by default the one whose function runs. Raises InvalidRequest outside of such a function. Its
        child batch, and a task or a job with its id, are known as its owners without this call.
        """
        hand_over(checked_item_id(item))

    def is_over(self, item: str | ItemId | None = None) -> bool:
        """Return whether the batch of an item has ended, so that no ack counts any more.

        *item*: by default the one whose function runs. The answer is at most five seconds old.
        """
        item_id = checked_item_id(item) or current().item_id
        return is_over(self._transport.state_of(ItemId.parse(item_id).batch_id))

    @overload
    def acks_each(self, work: HandleItem, /) -> Handler: ...
    @overload
    def acks_each(
        self,
        /,
        *,
        fail_after: int | None = None,
        margin_seconds: Seconds = MARGIN_SECONDS,
        results: bool = False,
        log: str | None = None,
    ) -> Callable[[HandleItem], Handler]: ...
    def acks_each(
        self,
        work: HandleItem | None = None,
        /,
        *,
        fail_after: int | None = None,
        margin_seconds: Seconds = MARGIN_SECONDS,
        results: bool = False,
        log: str | None = None,
    ) -> Handler | Callable[[HandleItem], Handler]:
        """Return the Lambda handler of an SQS queue of chunks that calls ``work(item)`` for each item.

        If it returns, the item is acked; if it raises ``Failed``, it fails for good; if it raises anything
        else, it goes again, and the others do not. *item* is a ``fanin.ChunkItem``. The options are those of
        :meth:`acks`. See docs/chunks.md.
        """
        margin = options_given(None, None, margin_seconds, fail_after)
        transport = logging_to(self._transport, log, instance(results, bool, "results"))

        def decorate(work: HandleItem) -> Handler:
            consumer = EachConsumer(
                transport,
                work=work,
                margin_seconds=margin,
                fail_after=fail_after,
                results=results,
            )
            return each_handler_of(consumer)

        return decorate if work is None else decorate(work)

    def work(self, queue: str, handler: Callable[..., object], **options: Unpack[WorkOptions]) -> WorkSummary:
        """Work on the messages of an SQS queue until SIGTERM or SIGINT, as a Lambda function would.

        *queue*: its URL or name. *handler*: one of :meth:`acks` or :meth:`acks_each`, or a function of a
        record; a coroutine function runs in tasks of asyncio. *options*: those of ``WorkOptions``; see
        docs/work.md.
        Raises the error that stopped the worker, if one did.
        """
        checked_queue(queue)
        consumer = consumer_of(handler, self._transport, options)
        from fanin.aws.messaging.receiving import queue_of  # noqa: PLC0415  # importing boto3 takes 0.3 s
        from fanin.client.sqs_worker.running import Running  # noqa: PLC0415  # with boto3 it takes 0.2 s

        return Running.of(queue_of(queue), consumer, options).run()

    def dead_letter_handler(self, item_id: Callable[[Record], str] | None = None) -> Handler:
        """Return the Lambda handler of a dead-letter queue, which fails the item of each message.

        A message that matches no item returns to the queue after growing pauses. *item_id*: record -> item
        id.
        """
        ack_of = partial(dead_letter_message_ack, item_id=synchronous(item_id, "item_id"))
        return handler_of(Adapter(self._transport, ack_of=ack_of, hide=hide_by_sqs))
