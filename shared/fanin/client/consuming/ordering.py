"""The order in which a consumer works on the records of a delivery, so that a poisoned one is alone.

A poisoned record ends its process, and all records of its delivery that are not acked come back with it. No
record says which one it was, but each redelivery is worked on in another order: by hashes of the message
ids upwards, then downwards, then from the middle, and again by other hashes. A record is then before any one
poisoned record at its second or its third receive, and, if the delivery comes back as it was, before any two
of them at its fourth.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from fanin.isolating import Record, receives

T = TypeVar("T")
UPWARDS, DOWNWARDS, _FROM_THE_MIDDLE = range(3)
"""The orders of redelivered records, from their second receive on, in turns."""


def runs_of(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Yield the runs of a delivery, in order; each run is acked before the next one starts.

    Records at their first receive are one run, as they were delivered. Every redelivered record is a run of
    its own; they go last, those that were received most often first, because they have the fewest receives
    left. A FIFO queue keeps its order.
    """
    in_order = any(is_in_order(record) for record in records)
    for redelivered, group in groupby(records if in_order else _reordered(records), _is_redelivered):
        part = list(group)
        yield from ([record] for record in part) if redelivered else [part]


def _reordered(records: Sequence[Record]) -> list[Record]:
    ordered = [record for record in records if not _is_redelivered(record)]
    again = sorted((record for record in records if _is_redelivered(record)), key=receives, reverse=True)
    for times, part in groupby(again, receives):
        ordered += in_turn(sorted(part, key=lambda record: _hash(_name(record), 0)), times, _name)
    return ordered


def in_turn(upwards: Sequence[T], times: int, name: Callable[[T], str]) -> Sequence[T]:
    """Return values of a message that was received *times* times, 2 or more, in the order of that receive.

    *upwards*: the values in the order of the first cycle; later ones go by hashes of their names.
    """
    cycle, turn = divmod(times - 2, 3)
    if cycle:
        upwards = sorted(upwards, key=lambda value: _hash(name(value), cycle))
    if turn == UPWARDS:
        return upwards
    if turn == DOWNWARDS:
        return upwards[::-1]
    middle = (len(upwards) - 1) / 2
    return [upwards[at] for at in sorted(range(len(upwards)), key=lambda at: abs(at - middle))]


def _name(record: Record) -> str:
    return str(record["messageId"])


def _hash(name: str, cycle: int) -> bytes:
    return hashlib.sha256(f"{name} {cycle}".encode()).digest()


def _is_redelivered(record: Record) -> bool:
    return receives(record) > 1


def is_in_order(record: Record) -> bool:
    """Return whether *record* is of a FIFO queue, whose messages keep their order.

    Its ARN says so, or where it has none, its sequence number, which messages of other queues do not have.
    """
    is_fifo = str(record.get("eventSourceARN", "")).endswith(".fifo")
    return is_fifo or "SequenceNumber" in (record.get("attributes") or {})


def behind(records: Sequence[Record], returned: Container[str]) -> list[Record]:
    """Return the records that stand behind a *returned* message of their group, in a FIFO queue."""
    stopped: set[str] = set()
    found: list[Record] = []
    for record in filter(is_in_order, records):
        group = str((record.get("attributes") or {}).get("MessageGroupId", ""))
        if record["messageId"] in returned:
            stopped.add(group)
        elif group in stopped:
            found.append(record)
    return found
