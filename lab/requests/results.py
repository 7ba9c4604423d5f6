"""Gathers the results of 10^6 items, and reads them: ``python -m lab.requests.results``.

Each way to ack is measured in a process of its own, over objects in files: its memory is that of the
gathering. The parts are written before, as acks write them. Parts of one item are measured for a tenth of the
items, and multiplied.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from hashlib import shake_128
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fanin.item_results.objects import Listed
from fanin.item_results.service import Results
from fanin.pacing import each_in_threads
from fanin.tracker import Ack, OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import Batch, ItemResult
from lab.pages.page import write
from lab.pages.results import Table, Target, keep
from lab.pages.revision import ROOT

NAME = "results"
ITEMS, RESULT_BYTES, TENANT = 1_000_000, 200, "t"
PARTS = (640, 10, 1)
MOST_GETS = 200
"""Of a read of 10^6 results."""
TENTH = 10


@dataclass
class FileObjects:
    """Objects as files of a folder, with counted requests."""

    folder: Path
    gets: int = 0
    puts: int = 0

    def put(self, name: str, body: bytes) -> None:
        self.puts += 1
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)

    def put_first(self, name: str, body: bytes) -> bool:
        if (self.folder / name).exists():
            return False
        self.put(name, body)
        return True

    def get(self, name: str) -> bytes | None:
        self.gets += 1
        path = self.folder / name
        return path.read_bytes() if path.exists() else None

    def names(self, folder: str) -> Iterator[Sequence[Listed]]:
        place = self.folder / folder
        found = sorted(place.iterdir()) if place.exists() else []
        yield [Listed(f"{folder}{each.name}", each.stat().st_size) for each in found]

    def remove(self, folder: str) -> bool:
        raise NotImplementedError(folder)  # nothing here removes or links

    def link(self, name: str, lifetime: timedelta) -> str:
        raise NotImplementedError(name)  # nothing here removes or links


@dataclass(frozen=True, slots=True)
class Measured:
    """A gathering of *items* results in parts of *together*, and a read of them."""

    items: int
    together: int
    cpu: float
    megabytes: float
    gets: int
    puts: int
    files: int
    reading_gets: int
    reading_cpu: float

    @property
    def factor(self) -> int:
        """By what time and requests are multiplied for the table."""
        return ITEMS // self.items


@dataclass
class Ended:
    """A batch that has ended, whose results lie in *folder*."""

    folder: Path
    items: int
    together: int
    store: MemoryStore = field(default_factory=MemoryStore)

    def measured(self) -> Measured:
        """Gather the results, read them, and check that each item has one."""
        objects = FileObjects(self.folder)
        results = Results(objects, each_in_threads)
        batch = self._ended(results)
        objects.gets = objects.puts = 0
        before, started = _peak(), time.process_time()
        index = results.gathered(batch, self.store)
        cpu = time.process_time() - started
        assert index is not None
        memory, gets = _peak() - before, objects.gets
        started = time.process_time()
        if sum(1 for _ in results.read(index)) != self.items:
            raise RuntimeError("an item has no result, or two")
        reading = time.process_time() - started
        counts = gets, objects.puts, len(index.files), objects.gets - gets
        return Measured(self.items, self.together, cpu, memory, *counts, reading)

    def _ended(self, results: Results) -> Batch:
        tracker = Tracker(self.store, results=results)
        batch = tracker.open(TENANT, OpenBatch(results=True)).batch_id
        group = tracker.add(TENANT, batch, self.items).groups[0].id
        key = tracker.get(TENANT, batch).key
        for first in range(0, self.items, self.together):
            some = range(first, min(first + self.together, self.items))
            results.keep(key, [ItemResult(f"{batch}:{group}:{item}", _text(item)) for item in some])
        tracker.ack(TENANT, [Ack(batch, group, 0, self.items - 1, "m")])
        tracker.close(TENANT, batch, "c")
        return tracker.get(TENANT, batch)


def _text(item: int) -> str:
    """Return a result whose bytes differ from item to item, as those of most work do."""
    text = shake_128(item.to_bytes(8)).hexdigest(RESULT_BYTES // 2)
    return json.dumps({"item": item, "text": text})[: RESULT_BYTES - 2] + '"}'


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _child(together: int, items: int) -> Measured:
    """Measure in a process of its own."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "lab.requests.results", "--child", folder, str(items), str(together)]
        out = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603
    return Measured(**json.loads(out))


def keep_measured(found: Sequence[Measured]) -> None:
    """Keep the result for docs/performance/results.md."""
    gets = max(each.reading_gets * each.factor for each in found if each.factor == 1)
    rate = min(each.items / each.reading_cpu for each in found)
    keep(
        NAME,
        "python -m lab.requests.results",
        {"gathering": Table(COLUMNS, [_row(each) for each in found])},
        figures={"items": f"{ITEMS:,}", "rate": f"{rate:,.0f}", "bytes": str(RESULT_BYTES)},
        targets=[
            Target(
                "GETs of a read of 10^6 results",
                f"{MOST_GETS}",
                f"{gets}",
                gets <= MOST_GETS,
                "files are small",
            )
        ],
    )
    write([NAME])


COLUMNS = (
    "results a part",
    "parts",
    "CPU s",
    "MiB",
    "GETs",
    "PUTs",
    "files",
    "results read a CPU s",
)


def _row(each: Measured) -> tuple[str, ...]:
    about = "about " if each.factor > 1 else ""
    return (
        f"{each.together:,}",
        f"{ITEMS / each.together:,.0f}",
        f"{about}{each.cpu * each.factor:,.0f}",
        f"{each.megabytes:,.0f}",
        f"{about}{each.gets * each.factor:,}",
        f"{about}{each.puts * each.factor:,}",
        f"{about}{each.files * each.factor:,}",
        f"{each.items / each.reading_cpu:,.0f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.child:
        folder, items, together = options.child
        print(json.dumps(asdict(Ended(Path(folder), int(items), int(together)).measured())))
        return
    found = [_child(each, ITEMS // TENTH if each == 1 else ITEMS) for each in PARTS]
    for each in found:
        print(each)
    keep_measured(found)


if __name__ == "__main__":
    main()
