"""Reads the items of one batch: one task per parent of leaves, skipping pages without a wanted item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from fanin.tracker import Batch, BatchKey, Group, Mode, TrackerStore
from fanin.tracker.rules.model import PageKey, State
from fanin.tracker.rules.page import PAGE_BITS_MAX, Page
from pipeline.datasource.filters import STATES, Wanted
from pipeline.datasource.options import Reading
from pipeline.shared_by_jobs import bitmaps, schemas
from pipeline.shared_by_jobs.bitmaps import Longs, Masks
from pipeline.table_frames.branches import LEAVES_A_READ, Branch, branches_of

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

GROUPS_A_READ = 100
_STATES = pa.array(STATES)


class NoSuchItems(ValueError):
    """The batch does not exist, or it is estimated and keeps no items; the message says which."""


@dataclass(frozen=True)
class BranchPartition(InputPartition):
    """The leaves that one task reads."""

    branch: Branch


@dataclass
class ItemReader(DataSourceReader):
    """Reads a batch with one task per parent of leaves, about a million items each."""

    request: Reading
    wanted: Wanted = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = Wanted(self.request.items.states)

    @property
    def key(self) -> BatchKey:
        return BatchKey(self.request.access.tenant, self.request.batch_id)

    def partitions(self) -> Sequence[BranchPartition]:
        """Return the branches of the batch as it is now. Raises NoSuchItems."""
        batch = readable_batch(self.request.access.tables.store, self.key)
        if batch.mode is not Mode.EXACT:
            raise NoSuchItems(f"batch {self.key.batch_id} is estimated: it counts acks and keeps no items")
        width = batch.shape.width(1)
        found = ((branch, branch.number * width) for branch in branches_of(batch))
        return [
            BranchPartition(branch)
            for branch, start in found
            if self.wanted.overlaps(start, start + width - 1)
        ]

    def read(self, partition: BranchPartition) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """Yield ITEMS of one branch; every page is read consistently, each at a different time."""
        store, schema = self.request.access.tables.store, to_arrow_schema(schemas.ITEMS)
        branch = partition.branch
        leaves = self._worth(store, branch)
        for at in range(0, len(leaves), LEAVES_A_READ):
            found, states = self._items_in(store, branch, leaves[at : at + LEAVES_A_READ])
            if found.size:
                ids = item_ids(self.request.batch_id, groups_of(store, self.key, found), found)
                yield pa.RecordBatch.from_arrays([pa.array(found), ids, _STATES.take(states)], schema=schema)

    def _worth(self, store: TrackerStore, branch: Branch) -> list[int]:
        """Return the leaves that may hold a wanted item."""
        size, wanted = branch.shape.leaf, self.wanted
        kinds = [failures for failures in (False, True) if STATES[2 * failures] in wanted.states]
        if "succeeded" in wanted.states:
            leaves: Iterable[int] = branch.leaves
        else:
            leaves = {leaf for kind in kinds for leaf in branch.open_leaves(store, self.key, failures=kind)}
        return sorted(leaf for leaf in leaves if wanted.overlaps(leaf * size, (leaf + 1) * size - 1))

    def _items_in(self, store: TrackerStore, branch: Branch, leaves: Sequence[int]) -> tuple[Longs, pa.Array]:
        """Return the positions of the wanted items, ascending, and the index in STATES of each."""
        keys = [PageKey(self.key, 0, leaf) for leaf in leaves]
        stored = store.pages(keys)
        pages, size = np.array(leaves, np.int64), branch.shape.leaf
        acked = bitmaps.as_rows(_acked(stored.get(key, Page())) for key in keys)
        failed = bitmaps.as_rows(bitmaps.from_mask(stored.get(key, Page()).failed) for key in keys)
        existing = bitmaps.item_masks(pages, size, branch.total)
        masks = dict(zip(STATES, (~acked, acked & ~failed, acked & failed), strict=True))
        chosen = reduce(or_, (masks[state] for state in self.wanted.states))
        found = bitmaps.positions(pages, existing & chosen, size)
        found = found[(found >= self.wanted.first) & (found <= self.wanted.last)]
        rows = np.searchsorted(pages, found // size)
        states = np.where(_bit(failed, rows, found % size), 2, _bit(acked, rows, found % size))
        return found, pa.array(states)


class FilteredItemReader(ItemReader):
    """Reads the items that pass the filters of a query, and no pages without such items."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take the filters that `Wanted` knows; yield the others, which Spark evaluates."""
        for pushed in filters:
            narrowed = self.wanted.narrowed(pushed)
            if narrowed is None:
                yield pushed
            else:
                self.wanted = narrowed


def readable_batch(store: TrackerStore, key: BatchKey) -> Batch:
    """Return a batch whose pages are stored. Raises NoSuchItems."""
    batch = store.get(key)
    gone = batch is None or batch.state is State.EXPIRED
    if batch is None or gone or batch.pages_expire_at <= datetime.now(UTC):
        raise NoSuchItems(f"tenant {key.tenant} has no batch {key.batch_id}, or it has expired")
    return batch


def item_ids(batch_id: str, groups: Sequence[tuple[int, Group]], positions: Longs) -> pa.Array:
    """Return the ids of the items at *positions*, which *groups* (first position, group) cover, ascending."""
    starts = np.array([start for start, _ in groups], np.int64)
    code = np.searchsorted(starts, positions, side="right") - 1
    heads = pa.array([f"{batch_id}:{group.id}" for _, group in groups]).take(pa.array(code))
    return pc.binary_join_element_wise(heads, pa.array(positions - starts[code]).cast(pa.string()), ":")


def groups_of(store: TrackerStore, key: BatchKey, positions: Longs) -> list[tuple[int, Group]]:
    """Return the groups that hold *positions*, ascending, each with its first position."""
    found: list[tuple[int, Group]] = []
    at, last = int(positions[0]), int(positions[-1])
    while at <= last:
        some = store.groups(key, at, last, GROUPS_A_READ)
        if not some:
            raise NoSuchItems(f"batch {key.batch_id} has no group for its item {at}; run the audit")
        found += some
        at = some[-1][0] + some[-1][1].upto
    return found


def _acked(page: Page) -> bytes:
    return bitmaps.ones(PAGE_BITS_MAX) if page.compacted else bitmaps.from_mask(page.bits)


def _bit(masks: Masks, rows: Longs, bit: Longs) -> Longs:
    """Return the *bit* of each of *rows*: 0 or 1."""
    found: Longs = (masks[rows, bit >> 3] >> (bit & 7).astype(np.uint8) & 1).astype(np.int64)
    return found
