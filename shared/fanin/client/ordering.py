"""The order in which a consumer works on the records of a delivery, so that a poisoned one is alone.

A poisoned record ends the process, and all records of its delivery that are not acked come back with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from fanin.isolating import Record, receives

ASCENDING_AND_DESCENDING = 3
"""Up to this receive redelivered records go in order of their message ids, up and down in turn."""


def runs_of(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Yield the runs of a delivery, in order; each run is acked before the next one starts.

    Records at their first receive are one run, as they were delivered. Every redelivered record is a run of
    its own; they go last, those that were received less often first. A FIFO queue keeps its order.
    """
    if any(is_in_order(record) for record in records):
        yield from _in_order(records)
        return
    first = [record for record in records if receives(record) < 2]
    if first:
        yield first
    yield from ([record] for record in sorted((r for r in records if receives(r) > 1), key=_turn))


def _in_order(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Yield the runs of a FIFO delivery: a redelivered record is a run of its own."""
    run: list[Record] = []
    for record in records:
        if receives(record) > 1:
            if run:
                yield run
            yield [record]
            run = []
        else:
            run.append(record)
    if run:
        yield run


def _turn(record: Record) -> tuple[int, bytes]:
    """Return the position of a redelivered record: it changes with each receive.

    Of two records, each is the earlier one at every other receive, so that the other one, if it is poisoned,
    does not always come before it.
    """
    times, name = receives(record), str(record["messageId"]).encode()
    if times > ASCENDING_AND_DESCENDING:
        return times, hashlib.sha256(name + str(times).encode()).digest()
    digest = hashlib.sha256(name).digest()
    return times, digest if times % 2 == 0 else bytes(255 - byte for byte in digest)


def is_in_order(record: Record) -> bool:
    """Return whether *record* is of a FIFO queue, whose messages keep their order."""
    return str(record.get("eventSourceARN", "")).endswith(".fifo")
