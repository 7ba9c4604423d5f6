"""Sends the rows of a publication, as fast as its rate allows."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fanin.client.tracing import Carried, sending
from fanin.pacing import Each, Pace, each_in_threads, each_in_turn, waits
from fanin.publishing.items import Row
from fanin.publishing.packing import Message, batches, carrying, pack_of
from fanin.publishing.sending import Sleep, send

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class Shape(Protocol):
    """How rows are sent: *chunk* of them in a message, *rate* messages a second, in a message *group*."""

    @property
    def queue_url(self) -> str: ...

    @property
    def chunk(self) -> int | None: ...

    @property
    def rate(self) -> float | None: ...

    @property
    def group(self) -> str | None: ...


@dataclass(slots=True)
class Sender:
    """Sends the messages of rows, in threads unless a rate bounds them, and counts the items sent.

    *report* is called after each request, by one thread at a time. *carried*: the trace context of
    the messages in a process without OpenTelemetry.
    """

    client: SQSClient
    request: Shape
    sleep: Sleep = time.sleep
    clock: Callable[[], float] = time.monotonic
    each: Each = each_in_threads
    items: int = 0
    report: Callable[[], object] = lambda: None
    carried: Carried = ()
    pace: Pace = field(init=False)
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.pace = Pace(self.request.rate, self.clock())

    def send(self, rows: Iterator[Row]) -> None:
        """Send *rows*; all are sent when it returns."""
        with sending(self.request.queue_url) as traced:
            messages = carrying(pack_of(self.request.chunk)(rows), traced.carried or self.carried)
            requests = list(batches(messages))
            traced.note({"messaging.batch.message_count": sum(map(len, requests))})
            each = self.each if self.request.rate is None else each_in_turn
            each(self._send, requests)

    def pause(self) -> float:
        """Return the seconds until the rate allows the next message."""
        return self.pace.pause(self.clock())

    def _send(self, messages: Sequence[Message]) -> None:
        if self.pace.rate is not None:
            self.sleep(self.pause())
            self.pace = self.pace.after(len(messages))
        pauses = waits(random.Random())
        send(self.client, self.request.queue_url, messages, pauses, self.sleep, self.request.group)
        with self._counting:
            self.items += sum(message.items for message in messages)
            self.report()
