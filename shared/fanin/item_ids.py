"""Item ids, ``batchId:groupId:index``, in their one canonical form.

Every way in parses an item id once, so that equal items have equal texts from then on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fanin.errors import InvalidRequest

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
UUID_FORM = re.compile(_UUID)
_RANGE_END = re.compile(r".+:([0-9]{1,19})-([0-9]{1,19})", re.DOTALL)
_ITEM_FORM = re.compile(rf"({_UUID}):({_UUID}):(0|[1-9][0-9]{{0,18}})")


@dataclass(frozen=True, slots=True)
class ItemId:
    """One unit of work, as its consumer names it."""

    batch_id: str
    group_id: str
    index: int

    @classmethod
    def parse(cls, text: str, field: str = "itemId") -> ItemId:
        """Return the item that *text* names, or raise InvalidRequest for any but the canonical form."""
        match = _ITEM_FORM.fullmatch(text) if isinstance(text, str) else None
        if not match:
            raise InvalidRequest(
                f"an item id is <batch id>:<group id>:<index>, exactly as add returned it, not {text!r:.60}",
                field=field,
            )
        return cls(match[1], match[2], int(match[3]))

    def __str__(self) -> str:
        return f"{self.batch_id}:{self.group_id}:{self.index}"


def ends_before_it_begins(text: str) -> bool:
    """Return whether *text* is a range of items, of whatever group, whose last index is before its first."""
    match = _RANGE_END.fullmatch(text)
    return match is not None and int(match[2]) < int(match[1])


def checked_item_id(item: str | ItemId | None, field: str = "itemId") -> str | None:
    """Return the canonical text of *item*, or None; InvalidRequest for what is no item id."""
    return None if item is None else str(ItemId.parse(str(item) if isinstance(item, ItemId) else item, field))
