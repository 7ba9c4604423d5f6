"""The face of fanin: open a batch, add items to it, close it, ack them, look at it."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, overload
from uuid import NAMESPACE_OID, uuid4, uuid5

from fanin.aws.settings import Tables
from fanin.client.consumer import MARGIN_SECONDS, Consumer, Handle, Handler, Outcomes, Record, handler_of
from fanin.client.items import Items
from fanin.client.model import AckReport, Closed, Status
from fanin.client.transport import Transport, requests_of
from fanin.errors import InvalidRequest
from fanin.tracker import ItemId, OpenBatch, Retention

_KEY_FORM = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?")


class Fanin:
    """A client of the API at a URL, or over a transport made elsewhere; safe in many threads.

    *region*: for AWS signatures, where the URL does not name it; an ``HttpTransport`` takes more.

    Every call that changes something takes an idempotency *key*, 1 to 128 printable ASCII characters:
    repeated with the same key it is the same call. Without one it gets a fresh key, which covers its own
    repetitions. All calls raise the errors of ``fanin.errors``; after StoreUnavailable the outcome is
    unknown, and the same call may be repeated.
    """

    def __init__(self, to: str | Transport, *, region: str | None = None) -> None:
        self._transport = _over_http(to, region) if isinstance(to, str) else to

    @classmethod
    def direct(cls, tables: Tables, tenant: str, *, page_bits: int = 1024) -> Self:
        """A client without an API hop: on the *tables* themselves, with this process's credentials.

        *page_bits*: items a page of a batch opened here; a batch keeps what it was opened with.
        """
        from fanin.client.direct import DirectTransport  # noqa: PLC0415  # boto3 takes 0.3 s that HTTP can save

        return cls(DirectTransport.on(tables, tenant, page_bits))

    def open(
        self,
        user_key: str | None = None,
        *,
        retention: Retention | None = None,
        key: str | None = None,
    ) -> Batch:
        """A new batch, or the one that was opened under this *key*. *user_key*: your own name for it."""
        key = _key(key)
        wish = OpenBatch(user_key=user_key, retention=retention or Retention())
        return Batch(self, self._transport.open(wish, key), key)

    def get(self, batch_id: str) -> Status:
        """How the batch stands. Raises NotFound."""
        return self._transport.get(batch_id)

    def add(self, batch_id: str, count: int, *, key: str | None = None) -> Items:
        """Reserve *count* items, 1 to 2^36, in one request.

        Raises NotFound, Conflict where the batch is closed, KeyReused where *key* came with another count.
        """
        return self._transport.add(batch_id, operator.index(count), _key(key))

    def close(self, batch_id: str, *, key: str | None = None) -> Closed:
        """Make the total final; the batch completes once all of it is acked. Raises NotFound."""
        return self._transport.close(batch_id, _key(key))

    def ack(self, items: Iterable[str | ItemId], *, key: str | None = None) -> AckReport:
        """Mark items done, of any batches, 1,000 a request.

        Raises InvalidRequest for a malformed id, before anything is sent.
        """
        key = _key(key)
        wanted = [str(ItemId.parse(str(item))) for item in items]
        report = AckReport()
        for number, part in enumerate(requests_of(wanted)):
            part_key = key if number == 0 else str(uuid5(NAMESPACE_OID, f"{key}/{number}"))
            report += self._transport.ack(part, [part_key] * len(part))
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
    ) -> Callable[[Handle], Handler]: ...
    def acks(
        self,
        handle: Handle | None = None,
        /,
        *,
        item_id: Callable[[Record], str] | None = None,
        on_acked: Callable[[Outcomes], object] | None = None,
        margin_seconds: float = MARGIN_SECONDS,
    ) -> Handler | Callable[[Handle], Handler]:
        """Make of ``handle(record)`` the Lambda of an SQS queue: success acks, an exception sends back.

        The event source needs ``ReportBatchItemFailures``. The arguments, if any, are explained at
        ``fanin.client.consumer.Consumer``.
        """

        def decorate(handle: Handle) -> Handler:
            return handler_of(Consumer(self._transport, handle, item_id, on_acked, margin_seconds))

        return decorate if handle is None else decorate(handle)


class Batch:
    """A batch in the hands of the one who opened it.

    As a context it is closed where its block ends. Where the block raises, the batch stays open, so that
    nothing completes half-filled, and the exception goes on; a later version will cancel it. *closed* is the
    answer of close, None before.
    """

    def __init__(self, fanin: Fanin, batch_id: str, key: str) -> None:
        self.id = batch_id
        self.closed: Closed | None = None
        self._fanin = fanin
        self._key = key

    def add(self, count: int, *, key: str | None = None) -> Items:
        """Reserve *count* items, at once and in one request; their ids are made as you go through them."""
        return self._fanin.add(self.id, count, key=key)

    def close(self) -> Closed:
        """Make the total final. Asked again it answers again, as it is the same call."""
        self.closed = self._fanin.close(self.id, key=self._key)
        return self.closed

    def status(self) -> Status:
        """How the batch stands."""
        return self._fanin.get(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.closed is None:
            self.close()

    def __repr__(self) -> str:
        return f"<Batch {self.id}>"


def _over_http(url: str, region: str | None) -> Transport:
    from fanin.client.http import HttpTransport  # noqa: PLC0415  # urllib3 is for those who speak HTTP

    return HttpTransport(url, region=region)


def _key(given: str | None) -> str:
    """The idempotency key of a logical call: the caller's own, or a fresh one."""
    if given is None:
        return str(uuid4())
    if not _KEY_FORM.fullmatch(given):
        raise InvalidRequest(
            "an idempotency key is 1 to 128 printable ASCII characters", field="Idempotency-Key"
        )
    return given
