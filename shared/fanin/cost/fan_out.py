"""The requests and units of a fan-out: its messages through SQS, and their acks at the tables. Pure."""

from __future__ import annotations

from math import ceil

from fanin.cost.bill import Usage

PAGE_ITEMS = 1024
BATCH = 10
"""Messages of a request of SQS."""
BILLED_BYTES = 64 * 1024
"""SQS bills each 64 KiB of a request, sent or received, as one."""
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
    acks = messages if together is None else ceil(items / together)
    # A full page climbs (its bit in its parent) and is compacted.
    pages = 2 * ceil(items / PAGE_ITEMS)
    reads = acks if items / max(1, acks) > GUARDED_ITEMS else 0
    return Usage(
        {
            "queue_request": requests * (2 * max(1, ceil(payload / BILLED_BYTES)) + 1),
            "write_unit": acks + pages,
            "read_unit": reads,
        }
    )
