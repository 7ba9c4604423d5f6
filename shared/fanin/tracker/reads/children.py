"""List the children of a batch's items: those that are live, that failed their items, and the others."""

from __future__ import annotations

from dataclasses import dataclass

from fanin.pacing import Each
from fanin.tracker.rules.children import Children
from fanin.tracker.rules.model import Batch, BatchKey, ItemKey
from fanin.tracker.store import TrackerStore

ITEMS_A_PAGE = 1_000
"""Items that have had children, and are read for a page: a page may be short, or empty, and not the last."""


@dataclass(frozen=True, slots=True)
class ChildPage:
    """Children of items, in the order of the items; *resume*: the item to continue from, None at the end.

    A page has all children of its last item.
    """

    batches: tuple[Batch, ...]
    resume: int | None


def child_page(
    store: TrackerStore, batch: Batch, item_id: str | None, start: int, limit: int, each: Each, done: bool
) -> ChildPage:
    """Return children of the items of *batch* from *start* on, or of one item.

    *done*: also those whose ends did not fail their items, the first 100 of an item; the row does not show
    whether there were more. Raises InvalidRequest for an item of another batch.
    """
    if item_id is None:
        ids, resume = _ids(store, batch.key, start, limit, done)
    else:
        children = store.children(ItemKey.within(batch.key, item_id))
        ids, resume = [] if children is None else _listed(children, done), None
    found = each(store.get, [BatchKey(batch.tenant, batch_id) for batch_id in ids])
    return ChildPage(tuple(child for child in found if child is not None), resume)


def _ids(
    store: TrackerStore, key: BatchKey, start: int, limit: int, done: bool
) -> tuple[list[str], int | None]:
    """Return the ids of at least *limit* children, if there are as many, and the item to continue from."""
    ids: list[str] = []
    rows = store.children_from(key, start, ITEMS_A_PAGE)
    for position, children in rows:
        if len(ids) >= limit:
            return ids, position
        ids += _listed(children, done)
    return ids, rows[-1][0] + 1 if len(rows) == ITEMS_A_PAGE else None


def _listed(children: Children, done: bool) -> list[str]:
    return [*sorted(children.live), *sorted(children.failed), *(sorted(children.done) if done else ())]
