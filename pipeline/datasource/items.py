"""Reads the items of one batch: a branch of the tree a task, past the pages that have nothing to tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from fanin.tracker import Batch, BatchKey, Group, Mode, TrackerStore
from fanin.tracker.model import LIFE_MAX, PageKey, State
from fanin.tracker.page import Page
from fanin.tracker.tree import Shape
from pipeline import bits, outstanding, schemas
from pipeline.bits import Longs, Words
from pipeline.datasource.options import Items, Reading

LEAVES_A_READ = 100
"""Pages that are asked for together: one request of the store's."""
GROUPS_A_READ = 100
STATES = pa.array(["outstanding", "succeeded", "failed"])


class NoSuchItems(ValueError):
    """The batch is not there, or nobody knows its items; the message says which."""


@dataclass(frozen=True)
class Branch(InputPartition):
    """The leaves under parent *number* of a batch of *total* items."""

    number: int
    total: int
    shape: Shape

    @property
    def leaves(self) -> range:
        """The numbers of its leaf pages."""
        first = self.number * self.shape.fanout
        return range(first, min(first + self.shape.fanout, -(-self.total // self.shape.leaf)))


@dataclass(frozen=True)
class ItemReader(DataSourceReader):
    """A task a parent of leaves: about a million items."""

    wish: Reading

    @property
    def key(self) -> BatchKey:
        return BatchKey(self.wish.access.tenant, self.wish.batch_id)

    def partitions(self) -> Sequence[Branch]:
        """The branches of the batch as it is now. Raises NoSuchItems."""
        batch = self._batch()
        width = batch.shape.width(1)
        return [Branch(number, batch.total, batch.shape) for number in range(-(-batch.total // width))]

    def read(self, partition: Branch) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """ITEMS of one branch; every page is read consistently, at a time of its own."""
        store, schema = self.wish.access.tables.store, to_arrow_schema(schemas.ITEMS)
        leaves = self._worth(store, partition)
        for at in range(0, len(leaves), LEAVES_A_READ):
            places, states = self._found(store, partition, leaves[at : at + LEAVES_A_READ])
            if places.size:
                ids = item_ids(self.wish.batch_id, groups_of(store, self.key, places), places)
                yield pa.RecordBatch.from_arrays([pa.array(places), ids, STATES.take(states)], schema=schema)

    def _batch(self) -> Batch:
        batch = self.wish.access.tables.store.get(self.key)
        gone = batch is None or batch.state is State.EXPIRED
        if batch is None or gone or batch.created_at + LIFE_MAX <= datetime.now(UTC):
            raise NoSuchItems(f"tenant {self.key.tenant} has no batch {self.key.batch_id}, or it has expired")
        if batch.mode is not Mode.EXACT:
            raise NoSuchItems(f"batch {self.key.batch_id} only counts its acks; nobody knows which items")
        return batch

    def _worth(self, store: TrackerStore, branch: Branch) -> list[int]:
        """The leaves that may hold what is looked for."""
        if self.wish.items is Items.ALL:
            return list(branch.leaves)
        place = PageKey(self.key, 1, branch.number)
        parent = store.pages([place]).get(place, Page())
        failures = self.wish.items is Items.FAILED
        return [leaf for leaf in branch.leaves if parent.is_worth(leaf - branch.leaves.start, failures)]

    def _found(self, store: TrackerStore, branch: Branch, leaves: Sequence[int]) -> tuple[Longs, pa.Array]:
        """The places of the items that are looked for, ascending, and the index of each one's state."""
        keys = [PageKey(self.key, 0, leaf) for leaf in leaves]
        stored = store.pages(keys)
        pages, size = np.array(leaves, np.int64), branch.shape.leaf
        acked = bits.as_rows(_acked(stored.get(key, Page())) for key in keys)
        failed = bits.as_rows(bits.from_mask(stored.get(key, Page()).failed) for key in keys)
        held = outstanding.held(pages, size, branch.total)
        wanted = {Items.OUTSTANDING: held & ~acked, Items.FAILED: held & failed, Items.ALL: held}
        places = bits.positions(pages, wanted[self.wish.items], size)
        rows = np.searchsorted(pages, places // size)
        states = np.where(_bit(failed, rows, places % size), 2, _bit(acked, rows, places % size))
        return places, pa.array(states)


def item_ids(batch_id: str, groups: Sequence[tuple[int, Group]], places: Longs) -> pa.Array:
    """The ids of the items at *places*; *groups* with their first places, ascending, cover them all."""
    starts = np.array([start for start, _ in groups], np.int64)
    code = np.searchsorted(starts, places, side="right") - 1
    heads = pa.array([f"{batch_id}:{group.id}" for _, group in groups]).take(pa.array(code))
    return pc.binary_join_element_wise(heads, pa.array(places - starts[code]).cast(pa.string()), ":")


def groups_of(store: TrackerStore, key: BatchKey, places: Longs) -> list[tuple[int, Group]]:
    """The groups that *places*, ascending, lie in, with their first places."""
    found: list[tuple[int, Group]] = []
    at, last = int(places[0]), int(places[-1])
    while at <= last:
        some = store.groups(key, at, last, GROUPS_A_READ)
        if not some:
            raise NoSuchItems(f"batch {key.batch_id} has no group for its item {at}; run the audit")
        found += some
        at = some[-1][0] + some[-1][1].upto
    return found


def _acked(page: Page) -> bytes:
    return bits.ones(bits.PAGE_BITS_MAX) if page.compacted else bits.from_mask(page.bits)


def _bit(words: Words, rows: Longs, bit: Longs) -> Longs:
    """The *bit* of each of *rows*: 0 or 1."""
    return (words[rows, bit >> 3] >> (bit & 7).astype(np.uint8) & 1).astype(np.int64)
