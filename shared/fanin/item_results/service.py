"""The results of batches over the objects of a bucket: kept before the acks, fixed and read at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

from fanin.errors import Conflict, NotFound
from fanin.item_results import files
from fanin.item_results.files import Index
from fanin.item_results.gathering import Gatherer, frozen
from fanin.item_results.lines import part_of, read
from fanin.item_results.objects import Objects, folder_of
from fanin.pacing import Each, each_in_turn
from fanin.tracker.rules.model import Batch, BatchKey, ItemKey, ItemResult, Manifest
from fanin.tracker.store import TrackerStore

LINK_LIFETIME = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Results:
    """Keeps results as parts, and reads those of ended batches. *new_id*: the source of the parts' names."""

    objects: Objects
    each: Each = each_in_turn
    new_id: Callable[[], object] = field(default=uuid4)

    def keep(self, key: BatchKey, results: Sequence[ItemResult]) -> None:
        self.objects.put(f"{folder_of(key)}parts/{self.new_id()}", part_of(results))

    def freeze(self, key: BatchKey) -> Manifest:
        return frozen(self.objects, key, self.each).manifest

    def delete(self, key: BatchKey) -> bool:
        return self.objects.remove(folder_of(key))

    def gathered(
        self, batch: Batch, pages: TrackerStore, has_time: Callable[[], bool] = lambda: True
    ) -> Index | None:
        """Return the files of an ended batch's results; None if they are not gathered yet: call again.

        *pages*: the store of the batch's pages. Raises Conflict if the batch is live, InvalidRequest if it
        keeps no results, NotFound if it is deleted meanwhile.
        """
        check_readable(batch)
        index = self.gatherer(pages).gather(batch, has_time)
        # A delete marks the row before it removes anything: what was read before the mark is whole.
        stored = pages.get(batch.key)
        if stored is None or stored.deleted_at is not None:
            raise NotFound(f"there is no batch {batch.batch_id}")
        return index

    def gatherer(self, pages: TrackerStore) -> Gatherer:
        return Gatherer(self.objects, pages, self.each, self.new_id)

    def read(self, index: Index, start: int = 0) -> Iterator[tuple[str, Any]]:
        """Yield the id and the result of each item of *index*, from the item at *start* on, in order."""
        return (read(line) for _, line in files.read(self.objects, index, start))

    def of_item(self, index: Index, item: ItemKey) -> tuple[str, Any] | None:
        """Return the id and the result of an item; None if it has no result."""
        within = [file for file in index.files if file.first <= item.position <= file.last]
        lines = files.read(self.objects, Index(tuple(within)), item.position)
        return next((read(line) for position, line in lines if position == item.position), None)

    def file(self, name: str) -> bytes:
        """Return the content of a file, gzipped."""
        return files.stored(self.objects, name)

    def link(self, name: str) -> str:
        """Return a URL that reads a file for 15 minutes."""
        return self.objects.link(name, LINK_LIFETIME)


def check_readable(batch: Batch) -> None:
    """Raise Conflict if *batch* is live, InvalidRequest if it keeps no results."""
    batch.need_results("batchId")
    if batch.is_alive:
        raise Conflict(
            f"batch {batch.batch_id} is {batch.state}: its results are read once it has ended, because a run"
            " that comes twice may change them until then: wait for its end, or start at its ending event"
        )
