"""The item ids of one add, generated when they are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from fanin.arguments import listed, text, whole
from fanin.client.tracing import Carried
from fanin.errors import InvalidRequest
from fanin.item_ids import ends_before_it_begins
from fanin.tracker import TOTAL_MAX, GroupId, ItemId

_INDEX = r"0|[1-9][0-9]{0,10}"
_RANGE_FORM = re.compile(rf"([0-9a-f-]{{36}}:[0-9a-f-]{{36}}):({_INDEX})-({_INDEX})")


class Items(Sequence[str]):
    """The ids ``batch_id:group_id:0`` to ``batch_id:group_id:<upto - 1>``, or a slice of them.

    The sequence stores no ids, so a slice and the whole take the same memory. ``str(items)`` of a range is
    ``batch_id:group_id:first-last``, which ``Items.parse`` reads. *carried*: the trace context with which
    their batch was opened, where ``Batch.add`` returned them.
    """

    carried: Carried = ()

    def __init__(self, batch_id: str, group_id: str, upto: int) -> None:
        self.batch_id = text(batch_id, "batch_id", "batch_id")
        self.group_id = text(group_id, "group_id", "group_id")
        self.upto = whole(upto, "upto", 0, TOTAL_MAX)
        self._indexes = range(upto)

    @classmethod
    def between(cls, batch_id: str, group_id: str, first: int, last: int) -> Items:
        """Return the items *first* to *last*, both inclusive, of a group. Raises InvalidRequest."""
        group = GroupId.decode(text(group_id, "group_id", "group_id"))
        first = whole(first, "first", 0, TOTAL_MAX - 1)
        last = whole(last, "last", first, (group.upto if group else TOTAL_MAX) - 1)
        return cls(batch_id, group_id, group.upto if group else last + 1)[first : last + 1]

    @classmethod
    def parse(cls, text: object) -> Items:
        """Return the items of ``batch_id:group_id:first-last``, both inclusive. Raises InvalidRequest."""
        match = _RANGE_FORM.fullmatch(text) if isinstance(text, str) else None
        if isinstance(text, str) and ends_before_it_begins(text):
            raise InvalidRequest(
                f"{text!r:.100} ends before it begins: a range is first-last, both inclusive", field="items"
            )
        if match is None:
            shown = repr(text)[:100]
            raise InvalidRequest(
                f"a range of items is batchId:groupId:first-last, not {shown}", field="items"
            )
        first, last = (ItemId.parse(f"{match[1]}:{match[at]}", "items") for at in (2, 3))
        group = GroupId.decode(first.group_id)
        if not first.index <= last.index < (group.upto if group else 0):
            raise InvalidRequest(f"{text} is no range of the items of its group", field="items")
        return cls.between(first.batch_id, first.group_id, first.index, last.index)

    @property
    def indexes(self) -> range:
        """Return the indexes of these items in their group."""
        return self._indexes

    @property
    def text(self) -> str:
        """Return ``batch_id:group_id:first-last``, as a message names a chunk. Raises InvalidRequest."""
        if not self._is_range:
            raise InvalidRequest("a chunk is a range of one item or more, without gaps", field="items")
        return f"{self.batch_id}:{self.group_id}:{self._indexes[0]}-{self._indexes[-1]}"

    def chunks(self, size: int) -> Iterator[Items]:
        """Return the items in parts of at most *size*, 1 to 10,000, cut at the multiples of it in the batch.

        So the neighbours of a part share a page of the tracker wherever the group starts, if *size* divides
        the page: one write acks them.
        """
        from fanin.tracker.reads.window import WINDOW_MAX  # noqa: PLC0415  # see merged

        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= WINDOW_MAX:
            raise InvalidRequest(f"a chunk has 1 to {WINDOW_MAX} items, not {size!r}", field="size")
        if self._indexes.step != 1:
            raise InvalidRequest("a range with gaps has no chunks", field="items")
        return self._cut(size)

    def message(self, rows: Iterable[Any] | None = None, **fields: Any) -> str:
        """Return the body of one message for all items, which ``@fanin.acks_each`` works one by one.

        *rows*: a JSON value for each item; without them, name where they are in *fields*, JSON values, too.
        """
        if "items" in fields:
            raise InvalidRequest("items is the field of the message's own items; name yours", field="items")
        body = _json({"items": self.text, **fields}, "fields")
        if rows is None:
            return body
        values = listed(rows, "rows", lambda row: row)
        if len(values) != len(self):
            raise InvalidRequest(f"{len(self)} items take as many rows, not {len(values)}", field="rows")
        return f'{body[:-1]},"rows":{_json(values, "rows")}}}'

    def __len__(self) -> int:
        return len(self._indexes)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Items: ...
    def __getitem__(self, at: int | slice) -> str | Items:
        if isinstance(at, slice):
            return self._only(self._indexes[at])
        return self._id(self._indexes[at])

    def __iter__(self) -> Iterator[str]:
        return map(self._id, self._indexes)

    def __reversed__(self) -> Iterator[str]:
        return map(self._id, reversed(self._indexes))

    def __contains__(self, item: object) -> bool:
        return self._index_of(item) in self._indexes

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the position of *value*, in constant time. Raises ValueError."""
        found = self._indexes.index(self._index_of(value))
        if found not in range(*slice(start, stop).indices(len(self))):
            raise ValueError(f"{value!r} is not in this part of the items")
        return found

    def count(self, value: Any) -> int:
        """Return 1 if *value* is one of the items, else 0."""
        return int(value in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Items):
            return NotImplemented
        return self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def __str__(self) -> str:
        return self.text if self._is_range else repr(self)

    def __repr__(self) -> str:
        cut = "" if self._indexes == range(self.upto) else f", only {self._indexes}"
        return f"Items({self.batch_id!r}, {self.group_id!r}, {self.upto}{cut})"

    @property
    def _is_range(self) -> bool:
        """Whether these are one item or more, without gaps."""
        return self._indexes.step == 1 and bool(self._indexes)

    def _facts(self) -> tuple[str, str, range]:
        return self.batch_id, self.group_id, self._indexes

    def _only(self, indexes: range) -> Items:
        part = Items(self.batch_id, self.group_id, self.upto)
        part._indexes, part.carried = indexes, self.carried
        return part

    def _cut(self, size: int) -> Iterator[Items]:
        group = GroupId.decode(self.group_id)
        start = group.start if group else 0
        at, stop = self._indexes.start, self._indexes.stop
        while at < stop:
            upto = min(stop, at + size - (start + at) % size)
            yield self._only(range(at, upto))
            at = upto

    def _id(self, index: int) -> str:
        return f"{self.batch_id}:{self.group_id}:{index}"

    def _index_of(self, item: object) -> int:
        """Return the index in *item*; -1, which no item has, if it is no id of this group."""
        try:
            parsed = ItemId.parse(item) if isinstance(item, str) else None
        except InvalidRequest:
            return -1
        ours = parsed and (parsed.batch_id, parsed.group_id) == (self.batch_id, self.group_id)
        return parsed.index if parsed and ours else -1


def _json(value: Any, name: str) -> str:
    """Return *value* as JSON. Raises InvalidRequest; *name*: the argument."""
    try:
        found = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        found.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"{name} of a message are JSON values: {error}", field=name) from None
    return found


def merged(*ranges: Items) -> tuple[Items, ...]:
    """Return *ranges* of one group, which do not overlap, in order; those that touch become one."""
    from fanin.tracker.reads.walking import joined  # noqa: PLC0415  # a tenth of the start of `fanin`

    return tuple(joined(sorted(ranges, key=lambda part: part.indexes.start), adjacent))


def adjacent(one: Items, other: Items) -> Items | None:
    """Return two ranges, of which the second begins where the first ends in its group, as one; else None."""
    is_next = one.group_id == other.group_id and one.indexes.stop == other.indexes.start
    if not is_next:
        return None
    return Items.between(one.batch_id, one.group_id, one.indexes.start, other.indexes[-1])
