"""The item ids of one add, generated when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from fanin.errors import InvalidRequest
from fanin.tracker import GroupId, ItemId


class Items(Sequence[str]):
    """The ids ``batch_id:group_id:0`` to ``batch_id:group_id:<upto - 1>``, or a slice of them.

    The sequence stores no ids, so a slice and the whole take the same memory.
    """

    def __init__(self, batch_id: str, group_id: str, upto: int) -> None:
        self.batch_id = batch_id
        self.group_id = group_id
        self.upto = upto
        self._indexes = range(upto)

    @classmethod
    def between(cls, batch_id: str, group_id: str, first: int, last: int) -> Items:
        """Return the items *first* to *last*, both inclusive, of a group."""
        group = GroupId.decode(group_id)
        upto = group.upto if group else last + 1
        return cls(batch_id, group_id, upto)[first : last + 1]

    @property
    def indexes(self) -> range:
        """Return the indexes of these items in their group."""
        return self._indexes

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

    def __repr__(self) -> str:
        cut = "" if self._indexes == range(self.upto) else f", only {self._indexes}"
        return f"Items({self.batch_id!r}, {self.group_id!r}, {self.upto}{cut})"

    def _facts(self) -> tuple[str, str, range]:
        return self.batch_id, self.group_id, self._indexes

    def _only(self, indexes: range) -> Items:
        part = Items(self.batch_id, self.group_id, self.upto)
        part._indexes = indexes
        return part

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


def merged(*ranges: Items) -> tuple[Items, ...]:
    """Return *ranges* of one group, which do not overlap, in order; those that touch become one."""
    found: list[Items] = []
    for part in sorted(ranges, key=lambda part: part.indexes.start):
        before = found[-1].indexes if found else None
        if before is not None and before.stop == part.indexes.start:
            found[-1] = Items.between(part.batch_id, part.group_id, before.start, part.indexes[-1])
        else:
            found.append(part)
    return tuple(found)
