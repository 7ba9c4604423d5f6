"""The reasons of failures that a batch keeps, as far as their items are still failed."""

from __future__ import annotations

from collections.abc import Sequence

from fanin.tracker.ids import GroupId, ItemId
from fanin.tracker.model import Batch, PageKey, Sample
from fanin.tracker.options import Mode
from fanin.tracker.page import Page
from fanin.tracker.store import TrackerStore


def samples(store: TrackerStore, batch: Batch) -> Sequence[Sample]:
    """Return the kept reasons without those of healed items, whose rows stay until the batch goes.

    The pages are read after the reasons: an item that was healed before the call is never among them.
    """
    kept = store.samples(batch.key)
    if batch.mode is Mode.ESTIMATED or not kept:
        return kept
    places = [divmod(_place(sample), batch.shape.leaf) for sample in kept]
    pages = store.pages({PageKey(batch.key, 0, number) for number, _ in places})
    return [
        sample
        for sample, (number, bit) in zip(kept, places, strict=True)
        if pages.get(PageKey(batch.key, 0, number), Page()).failed >> bit & 1
    ]


def _place(sample: Sample) -> int:
    """The item's place in its batch."""
    item = ItemId.parse(sample.item_id)
    group = GroupId.decode(item.group_id)
    return (group.start if group else 0) + item.index
