"""The reasons of failures that a batch keeps, as far as their items are still failed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from fanin.item_ids import ItemId
from fanin.tracker.rules.ids import GroupId
from fanin.tracker.rules.model import Batch, PageKey, Sample
from fanin.tracker.rules.options import Mode
from fanin.tracker.rules.page import Page
from fanin.tracker.store import TrackerStore

SAMPLES = 128
"""Slots for reasons in a batch."""
SAMPLE_PROBES = 4


def slots_of(item_id: str) -> list[int]:
    """Return the slots in which the reason of an item may be, in the order in which they are tried."""
    first = int.from_bytes(hashlib.sha256(item_id.encode()).digest()[:4], "big")
    return [(first + probe) % SAMPLES for probe in range(SAMPLE_PROBES)]


def free(store: TrackerStore, batch: Batch, item_id: str) -> None:
    """Remove the reason of a healed item, if one is kept, so that its slot is free for another failure."""
    any(store.free_sample(batch.key, slot, item_id) for slot in slots_of(item_id))


def samples(store: TrackerStore, batch: Batch) -> Sequence[Sample]:
    """Return the kept reasons without those of healed items: a crash, or a bulk ack, leaves their rows.

    The pages are read after the reasons: an item that was healed before the call is never among them.
    """
    kept = store.samples(batch.key) if batch.failed else []
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
