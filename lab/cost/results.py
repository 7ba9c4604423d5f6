"""What results of items cost: requests and bytes, counted on acks and a gathering over objects in memory."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from fanin.cost import Usage
from fanin.item_results.files import FILE_BYTES
from fanin.item_results.gathering import BYTES_A_RUN, PARTS_A_RUN, Gatherer
from fanin.item_results.memory import MemoryObjects
from fanin.item_results.objects import Listed
from fanin.item_results.service import Results
from fanin.pacing import THREADS
from fanin.tracker import Ack, OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import Batch, PageKey
from fanin.tracker.rules.page import Page
from lab.cost.month import GB, REQUEST_MS

RESULT_BYTES = 200
SCALE = 50
"""The count is made of a fiftieth of the items, with a fiftieth of what a run, a file and a list have."""
LIST_PAGE, KEEP_DAYS = 1000, 7
TENANT = "t"


@dataclass(slots=True)
class CountedObjects(MemoryObjects):
    """Counts the requests as S3 bills them."""

    writes: int = 0
    reads: int = 0

    def put(self, name: str, body: bytes) -> None:
        self.writes += 1
        MemoryObjects.put(self, name, body)

    def put_first(self, name: str, body: bytes) -> bool:
        self.writes += 1
        return MemoryObjects.put_first(self, name, body)

    def get(self, name: str) -> bytes | None:
        self.reads += 1
        return MemoryObjects.get(self, name)

    def names(self, folder: str) -> Iterator[Sequence[Listed]]:
        for some in MemoryObjects.names(self, folder):
            self.writes += 1
            yield some

    def take(self) -> tuple[int, int]:
        """Return the writes, lists among them, and the reads since the last call."""
        taken = self.writes, self.reads
        self.writes = self.reads = 0
        return taken


class CountedPages(MemoryStore):
    """Counts the pages that are read, a read unit each."""

    read = 0

    def pages(self, keys: Collection[PageKey], bits: bool = True) -> Mapping[PageKey, Page]:
        self.read += len(keys)
        return super().pages(keys, bits)


@dataclass(frozen=True)
class Kept:
    """The results of *items* items, acked *together* at a time, in units. *files*: what a reader gets."""

    items: int
    together: int
    written: Usage
    gathered: Usage
    stored: Usage
    files: int


@dataclass
class Counting:
    """A batch of a fiftieth of *items*."""

    items: int
    together: int
    objects: CountedObjects = field(default_factory=lambda: CountedObjects(page=LIST_PAGE // SCALE))
    store: CountedPages = field(default_factory=CountedPages)

    def count(self, gigabytes: float) -> Kept:
        """Ack and gather, by a function of *gigabytes*."""
        batch = self._acked()
        parts, _ = self.objects.take()
        self.store.read = 0
        files = self._gathered(batch)
        writes, reads = self.objects.take()
        # Each part is read once; of lists, runs and files there are as many as of all items.
        reads += parts * (SCALE - 1)
        seconds = REQUEST_MS / 1000 * (writes + reads / THREADS)
        gathered = {
            "object_write": writes,
            "object_read": reads,
            "read_unit": SCALE * self.store.read,
            "gb_second": seconds * gigabytes,
        }
        size = SCALE * sum(map(len, self.objects.stored.values()))
        stored = Usage({"object_gb_month": size / GB * KEEP_DAYS / 30})
        written = Usage({"object_write": SCALE * parts})
        return Kept(self.items, self.together, written, Usage(gathered), stored, files)

    def _gathered(self, batch: Batch) -> int:
        """Gather in steps of a fiftieth, and return the number of files."""
        index = Gatherer(
            self.objects,
            self.store,
            file_bytes=FILE_BYTES // SCALE,
            run_bytes=BYTES_A_RUN // SCALE,
            run_parts=PARTS_A_RUN // SCALE,
        ).gather(batch, lambda: True)
        assert index is not None
        return len(index.files)

    def _acked(self) -> Batch:
        tracker = Tracker(self.store, results=Results(self.objects))
        batch = tracker.open(TENANT, OpenBatch(results=True)).batch_id
        count = self.items // SCALE
        group = tracker.add(TENANT, batch, count).groups[0].id
        random = Random(1)
        for first in range(0, count, self.together):
            some = range(first, min(first + self.together, count))
            tracker.ack(TENANT, [Ack(batch, group, one, one, "m", result=_text(random)) for one in some])
        tracker.close(TENANT, batch, "c")
        return tracker.get(TENANT, batch)


def count_results(items: int, gigabytes: float, acked_together: Sequence[int]) -> Sequence[Kept]:
    """Return the counts of *items* results, for each number that is acked together.

    *gigabytes*: of the function that gathers them.
    """
    return [Counting(items, together).count(gigabytes) for together in acked_together]


def _text(random: Random) -> str:
    return json.dumps(f"{random.getrandbits(4 * (RESULT_BYTES - 2)):0{RESULT_BYTES - 2}x}")
