"""The requests and units of a fan-out: its messages through SQS, and their acks at the tables. Pure."""

from __future__ import annotations

from math import ceil

from fanin.cost.bill import Bill, Usage
from fanin.cost.rules import queue_requests

PAGE_ITEMS = 1024
BATCH = 10
"""Messages of a request of SQS."""
ENVELOPE_BYTES = 140
"""Bytes of a message beside its rows: item ids, time, names."""
MESSAGE_BYTES = 256 * 1024
"""Bytes of a chunk at most; a chunk of longer rows is sent in parts."""
GUARDED_ITEMS = 115
"""Neighbours that one guarded write acks wherever they lie in a page; more take a read, too."""


def messages_of(items: int, size: int, chunk: int = 1) -> int:
    """Return how many messages *items* take, whose rows are *size* bytes in total, *chunk* in each."""
    wanted = ceil(items / chunk)
    return wanted if chunk == 1 else max(wanted, min(items, ceil(size / MESSAGE_BYTES)))


def fan_out(items: int, size: int = 0, chunk: int = 1, together: int | None = None) -> Usage:
    """Return what it takes to send, receive, delete and ack *items*, without functions and API calls.

    *size*: bytes of their rows in total, 0 for pointers. *chunk*: items of a message. *together*:
    neighbours of one write, by default those of a message.
    """
    messages = messages_of(items, size, chunk)
    requests = ceil(messages / BATCH)
    payload = (size + messages * ENVELOPE_BYTES) / max(1, requests)
    carried = Usage({"queue_request": requests * (2 * queue_requests(ceil(payload)) + 1)})
    return carried + acks(items, messages if together is None else ceil(items / together))


def most_dollars(items: int, results: bool = False) -> float:
    """Return what *items* cost at most, each sent and acked alone, without functions and API calls.

    *results*: each has a result, which is written as an object of its own, and gathered from it.
    """
    objects = Usage({"object_write": items, "object_read": items}) if results else Usage()
    return Bill(fan_out(items) + objects).dollars


def acks(items: int, writes: int) -> Usage:
    """Return what it takes to ack *items* at the tables by so many *writes*, each of neighbours."""
    # A full page climbs (its bit in its parent) and is compacted.
    pages = 2 * ceil(items / PAGE_ITEMS)
    return Usage({"write_unit": writes + pages, "read_unit": writes if items > GUARDED_ITEMS * writes else 0})
