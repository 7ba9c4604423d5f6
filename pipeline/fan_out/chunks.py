"""Puts neighbouring rows into one message, `{"items": "batch:group:0-63", "rows": [...], "sentAt": ms}`.

Cut at multiples of the chunk's size in the batch, where the items have a gap, and where a message would be
longer than a queue takes: a function of the rows alone, so another attempt of a task sends the same messages.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import groupby

from pyspark.sql import Row

from fanin.cost.fan_out import ENVELOPE_BYTES, MESSAGE_BYTES
from pipeline.fan_out.send import Message


def chunked(rows: Iterable[Row], size: int) -> Iterator[Message]:
    """Yield the messages of *rows* of `messages.as_messages`, which are in order, at most *size* in each."""
    for _, near in groupby(rows, key=lambda row: (row.copy, row.position // size)):
        for part in _parts(near):
            yield _message(part, int(time.time() * 1000))


def _parts(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield *rows* of one chunk in parts without gaps that are short enough."""
    part: list[Row] = []
    length = 0
    for row in rows:
        width = len(row.record.encode()) + 1
        gap = bool(part) and row.position != part[-1].position + 1
        if part and (gap or ENVELOPE_BYTES + length + width > MESSAGE_BYTES):
            yield part
            part, length = [], 0
        part.append(row)
        length += width
    if part:
        yield part


def _message(part: list[Row], sent_at: int) -> Message:
    last = part[-1].item_id.rpartition(":")[2]
    rows = ",".join(row.record for row in part)
    body = f'{{"items":"{part[0].item_id}-{last}","rows":[{rows}],"sentAt":{sent_at}}}'
    return Message(part[0].copy, body, len(part))
