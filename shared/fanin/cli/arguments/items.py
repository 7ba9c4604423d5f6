"""ITEM on a command line and on standard input: one item or a range, parsed, joined, and read as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from fanin.cli.terminal.exits import UsageError
from fanin.client.http_bodies.codec import Document
from fanin.item_ids import ends_before_it_begins
from fanin.tracker import GroupId

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ITEM = re.compile(rf"(.+):({_UUID}):(0|[1-9][0-9]{{0,18}})(?:-(0|[1-9][0-9]{{0,18}}))?", re.DOTALL)
SHOWN = 100
STDIN = "-"


@dataclass(frozen=True, slots=True)
class ItemRange:
    """The items *first* to *last*, both inclusive, of a group of a *batch*, which is an id or a user key."""

    batch: str
    group_id: str
    first: int
    last: int

    def __str__(self) -> str:
        upto = "" if self.last == self.first else f"-{self.last}"
        return f"{self.batch}:{self.group_id}:{self.first}{upto}"

    def ids(self) -> Iterator[str]:
        """Yield the id of each item."""
        return (f"{self.batch}:{self.group_id}:{index}" for index in range(self.first, self.last + 1))

    def joined(self, other: ItemRange) -> ItemRange | None:
        """Return this range with *other*, which begins where this one ends in the same group, else None.

        A range that is partly out of its group is refused as a whole, and must not take a neighbour along.
        """
        ours = (self.batch, self.group_id, self.last + 1)
        group = GroupId.decode(self.group_id)
        if ours != (other.batch, other.group_id, other.first) or group is None or other.last >= group.upto:
            return None
        return replace(self, last=other.last)


def item_range(text: str) -> ItemRange:
    """Return what an ITEM names: ``batch:group:7`` or ``batch:group:0-99``. Raises UsageError.

    Group and indexes are the last two parts, so that a user key may have colons.
    """
    found = range_in(text)
    if found is None:
        _check_order(text)
        raise UsageError(f"{text[:SHOWN]!r} is no item: write batch:group:7, or batch:group:0-99 for a range")
    return found


def range_in(text: str) -> ItemRange | None:
    """Return the items that *text* names, or None if it names none. Raises UsageError."""
    match = _ITEM.fullmatch(text)
    if not match:
        return None
    _check_order(text)
    return ItemRange(match[1], match[2], int(match[3]), int(match[4] or match[3]))


def _check_order(text: str) -> None:
    if ends_before_it_begins(text):
        raise UsageError(f"{text[:SHOWN]!r} ends before it begins: a range is first-last, both inclusive")


def range_of(batch: str, document: Document) -> ItemRange:
    """Return the range of a document of the API."""
    return ItemRange(batch, document["groupId"], document["from"], document["to"])


def item_ranges(arguments: Iterable[str], lines: Iterable[str]) -> Iterator[ItemRange]:
    """Return the items of the *arguments*; ``-`` stands for *lines*, which are read as they come.

    Raises UsageError at once for an argument, and for a line when it is read.
    """
    parsed = [None if argument == STDIN else item_range(argument) for argument in arguments]
    return chain.from_iterable(_of_lines(lines) if each is None else (each,) for each in parsed)


def _of_lines(lines: Iterable[str]) -> Iterator[ItemRange]:
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        try:
            found = item_range(text)
        except UsageError as error:
            raise UsageError(f"line {number}: {error}") from None
        yield found
