"""Which items of one range of a group are outstanding, and which have failed, from its pages alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fanin.errors import InvalidRequest, NotFound
from fanin.tracker.reads.walking import runs
from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.model import Batch, ItemRange, PageKey
from fanin.tracker.rules.page import Page, mask_of
from fanin.tracker.rules.tree import stretches

if TYPE_CHECKING:
    from fanin.tracker.store import TrackerStore

WINDOW_MAX = 10_000
"""Items of a window: at most 11 pages of the usual size, so one read of the store."""


@dataclass(frozen=True, slots=True)
class Window:
    """The items *first* and those after it in a group; bit *i* of a mask is the item ``first + i``."""

    group_id: str
    first: int
    outstanding: int = 0
    failed: int = 0

    def ranges(self, mask: int) -> tuple[ItemRange, ...]:
        """Return the items of *mask* as ranges of the group."""
        found = runs(mask)
        return tuple(ItemRange(self.group_id, self.first + low, self.first + high) for low, high in found)


def window(store: TrackerStore, batch: Batch, group_id: str, first: int, last: int) -> Window:
    """Return the state of the items *first* to *last* (both inclusive) of a group, by a consistent read.

    Raises NotFound for a group of another batch, and InvalidRequest for a range that is malformed, beyond the
    group or of more than 10,000 items.
    """
    start = _start_of(batch, group_id, first, last)
    parts = list(stretches(start + first, start + last, batch.shape.leaf))
    stored = store.pages([PageKey(batch.key, 0, number) for number, _, _ in parts])
    outstanding, failed, at = 0, 0, 0
    for number, low, high in parts:
        page, mask = stored.get(PageKey(batch.key, 0, number), Page()), mask_of(low, high)
        outstanding |= page.unset(mask) >> low << at
        failed |= (page.failed & mask) >> low << at
        at += high - low + 1
    return Window(group_id, first, outstanding, failed)


def _start_of(batch: Batch, group_id: str, first: int, last: int) -> int:
    """Return the item of the batch at which the group starts, or raise what is wrong with the range."""
    group = GroupId.decode(group_id)
    if group is None or not group.is_of(batch.salt, batch.batch_id):
        raise NotFound(f"batch {batch.batch_id} has no group {group_id}")
    for field, refusal in _refusals(first, last, group.upto):
        raise InvalidRequest(refusal, field=field)
    return group.start


def _refusals(first: int, last: int, upto: int) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a range, each with the field that it concerns."""
    if not 0 <= first <= last:
        yield "from", "a range of items goes from a smaller index to a larger one"
    if last >= upto:
        yield "to", f"the group has the items 0 to {upto - 1}"
    if last - first >= WINDOW_MAX:
        yield "to", f"a window has at most {WINDOW_MAX} items"
