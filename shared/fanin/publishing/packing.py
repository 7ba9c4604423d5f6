"""Turns rows into messages: one for a row, or one for a chunk of neighbours.

A row alone: ``{"itemId": "batch:group:7", "record": {...}, "sentAt": ms}``. A chunk: ``{"items":
"batch:group:0-63", "rows": [...], "sentAt": ms}``, cut at multiples of its size in the batch, where the items
have a gap, and where a message would be too long: a function of the rows alone, so another attempt sends the
same messages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, Protocol, TypeVar

from fanin.aws.messaging.kept_messages import size_of

BATCH_ENTRIES = 10
BATCH_BYTES = 1_048_576
"""The most that SQS takes in one request: entries, and bytes of all their bodies together."""
MESSAGE_BYTES = 256 * 1024
"""Bytes of a chunk at most: what a queue takes also where its MaximumMessageSize is that of older queues."""
ENVELOPE_BYTES = 140
"""Bytes of a message beside its rows: item ids, time, names."""
TRACEPARENT_BYTES = 72
"""Bytes of the attribute ``traceparent``, for which a chunk has room also where it carries none."""
RESERVED_BYTES = ENVELOPE_BYTES + TRACEPARENT_BYTES

Row = Any
"""A row to send: its *position* in the batch, its *item_id*, its *record* as JSON, and which *copy* it is."""
Pack = Callable[[Iterator[Row]], Iterator["Message"]]
"""Turns rows into messages."""
Carried = tuple[tuple[str, str], ...]
"""The names and the texts of a trace context, the most useful first."""


class Sized(Protocol):
    """A message to send, of so many bytes."""

    @property
    def size(self) -> int: ...


M = TypeVar("M", bound=Sized)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of *items* items of the batch *batch_id*; *copy* is 1, or 2 for an intended duplicate.

    *carried*: the trace context that it carries as attributes.
    """

    copy: int
    body: str
    batch_id: str
    items: int = 1
    carried: Carried = ()

    @property
    def size(self) -> int:
        """Return the bytes of its body and attributes."""
        attributes = sum(size_of(*named) for named in self.attributes.items()) if self.carried else 0
        return len(self.body.encode()) + attributes

    @property
    def attributes(self) -> dict[str, dict[str, str]]:
        """Return its attributes, as a request has them."""
        return {name: {"DataType": "String", "StringValue": text} for name, text in self.carried}

    def carrying(self, carried: Carried) -> Message:
        """Return the message with what of *carried* fits: all queues that take it take it with that, too."""
        most = MESSAGE_BYTES if self.size <= MESSAGE_BYTES else BATCH_BYTES
        message = self
        for named in carried:
            longer = replace(message, carried=(*message.carried, named))
            if longer.size > most:
                break
            message = longer
        return message

    @classmethod
    def of(cls, row: Row, sent_at: int) -> Message:
        """Return the message of one row; *sent_at* in ms since 1970."""
        body = f'{{"itemId":"{row.item_id}","record":{row.record},"sentAt":{sent_at}}}'
        return cls(row.copy, body, batch_of(row))

    @classmethod
    def of_chunk(cls, rows: list[Row], sent_at: int) -> Message:
        """Return the message of neighbours; *sent_at* in ms since 1970."""
        items = f"{rows[0].item_id}-{rows[-1].item_id.rpartition(':')[2]}"
        records = ",".join(row.record for row in rows)
        body = f'{{"items":"{items}","rows":[{records}],"sentAt":{sent_at}}}'
        return cls(rows[0].copy, body, batch_of(rows[0]), len(rows))


def pack_of(chunk: int | None) -> Pack:
    """Return how rows are packed: *chunk* neighbours in a message; None: each row by itself."""
    return singly if chunk is None else partial(chunked, size=chunk)


def singly(rows: Iterator[Row]) -> Iterator[Message]:
    """Yield a message for each row."""
    return (Message.of(row, _now()) for row in rows)


def chunked(rows: Iterable[Row], size: int) -> Iterator[Message]:
    """Yield the messages of *rows*, which are in order, at most *size* in each."""
    for _, near in groupby(rows, key=lambda row: (row.copy, row.position // size)):
        for part in _parts(near):
            yield Message.of_chunk(part, _now())


def carrying(messages: Iterable[Message], carried: Carried) -> Iterable[Message]:
    """Return *messages*, each with the trace context *carried*."""
    return (message.carrying(carried) for message in messages) if carried else messages


def batches(messages: Iterable[M]) -> Iterator[list[M]]:
    """Yield *messages* in order, as many together as one request takes."""
    batch: list[M] = []
    size = 0
    for message in messages:
        length = message.size
        if batch and (len(batch) == BATCH_ENTRIES or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield batch


def _parts(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield *rows* of one chunk in parts without gaps that are short enough."""
    part: list[Row] = []
    length = 0
    for row in rows:
        width = len(row.record.encode()) + 1
        gap = bool(part) and row.position != part[-1].position + 1
        if part and (gap or RESERVED_BYTES + length + width > MESSAGE_BYTES):
            yield part
            part, length = [], 0
        part.append(row)
        length += width
    if part:
        yield part


def batch_of(row: Row) -> str:
    """Return the id of the batch of a row's item."""
    return str(row.item_id).partition(":")[0]


def _now() -> int:
    return int(time.time() * 1000)
