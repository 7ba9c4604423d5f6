"""Reads what the parts of a queue hold, in one or two requests a part."""

from __future__ import annotations

from collections.abc import Sequence

from fanin.errors import StoreUnavailable
from fanin.queue.context import QueueContext
from fanin.queue.rules.keys import PartKey
from fanin.queue.rules.model import Entry, JobState, PartLook

LOOK_ROWS = 16
"""The rows of the index that fit into one read unit, 4 KB."""


def look(context: QueueContext, parts: Sequence[PartKey]) -> list[PartLook]:
    """Return what each part holds; the busy jobs of a part with many ready ones are read apart."""
    now = context.effects.now()

    def look_at(part: PartKey) -> PartLook:
        try:
            first = tuple(context.store.first(part, LOOK_ROWS))
        except StoreUnavailable:
            raise
        except Exception:  # the rows that can be read are swept all the same, and log the others
            outstanding = tuple(context.store.outstanding(part, now))
            return PartLook((), outstanding, complete=False, readable=False)
        if len(first) == LOOK_ROWS:
            return PartLook(first, tuple(context.store.outstanding(part, now)), complete=False)
        return PartLook(first, tuple(entry for entry in first if _is_outstanding(entry, now)), complete=True)

    return context.effects.each(look_at, parts)


def look_at_first(context: QueueContext, parts: Sequence[PartKey]) -> list[PartLook]:
    """Return the first jobs of each part, in one read unit a part; what is outstanding is not read."""

    def look_at(part: PartKey) -> PartLook:
        first = tuple(context.store.first(part, LOOK_ROWS))
        return PartLook(first, (), complete=len(first) < LOOK_ROWS)

    return context.effects.each(look_at, parts)


def _is_outstanding(entry: Entry, now: int) -> bool:
    return entry.state is JobState.BUSY or (entry.state is JobState.DELAYED and entry.ready_us <= now)
