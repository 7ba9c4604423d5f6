"""A result as a line of a file: JSON with the item's id and the result, and its order in the batch. Pure.

    {"itemId":"<batch>:<group>:<index>","result":{"size":3}}

A part, which an ack writes, has the lines in the order of the acks; a file of gathered results has each item
once, in the order of the items.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.model import ItemResult

Line = tuple[int, bytes]
"""The position of an item in its batch, and its line without the line break."""

_BEFORE = b'{"itemId":"'
_BETWEEN = b'","result":'
_GROUP = slice(len(_BEFORE) + 37, len(_BEFORE) + 73)
_INDEX = len(_BEFORE) + 74


def part_of(results: Sequence[ItemResult]) -> bytes:
    """Return the content of the part with *results*."""
    lines = (b'%s%s","result":%s}\n' % (_BEFORE, one.item_id.encode(), one.text.encode()) for one in results)
    return b"".join(lines)


def lines_of(content: bytes) -> Iterator[Line]:
    """Yield the lines of a part or a file, in its order."""
    for line in content.splitlines():
        yield _start(line[_GROUP]) + int(line[_INDEX : line.index(b'"', _INDEX)]), line


def content_of(lines: Iterable[Line]) -> bytes:
    """Return the content of the file with *lines*."""
    return b"".join(line + b"\n" for _, line in lines)


def first_of_each(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the first line of each item, from *lines* in the order of the items."""
    for _, same in groupby(lines, key=itemgetter(0)):
        yield next(same)


def read(line: bytes) -> tuple[str, Any]:
    """Return the id and the result of an item."""
    found = json.loads(line)
    return found["itemId"], found["result"]


def texts_of(line: bytes) -> tuple[str, str]:
    """Return the id and the result of an item, as JSON."""
    head, _, result = line.partition(_BETWEEN)
    return head[len(_BEFORE) :].decode(), result[:-1].decode()


@lru_cache(maxsize=1024)
def _start(group_id: bytes) -> int:
    group = GroupId.decode(group_id.decode())
    if group is None:
        raise ValueError(f"a line of results names no group, but {group_id!r:.60}")
    return group.start
