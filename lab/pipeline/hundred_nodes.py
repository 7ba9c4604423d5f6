"""Computes what 10^9 items of one batch take on a hundred nodes: ``python -m lab.pipeline.hundred_nodes``.

The number of tasks and their shares come from the code of the jobs, what a row, a page and a change take from
measurements on one core. The network and DynamoDB's answers are not part of the model, but for ANSWER.
docs/analytics.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from fanin.tracker.rules.page import PAGE_BITS_MAX
from fanin.tracker.rules.tree import Shape, tails
from fanin.tracker.store import PAGES_A_COUNT
from lab.pages import tables
from pipeline.bulk_ack.run import write_tasks
from pipeline.shared_by_jobs import bitmaps
from pipeline.shared_by_jobs.files import ListedFile, shares
from pipeline.table_frames.branches import LEAVES_A_READ, Branch

NODES, CORES = 100, 4
SLOTS = NODES * CORES
ITEMS = 1_000_000_000
SHAPE = Shape(PAGE_BITS_MAX, PAGE_BITS_MAX)
PAGES = -(-ITEMS // SHAPE.leaf)
BLOCKS = -(-ITEMS // bitmaps.BLOCK_BITS)

ROW_BYTES = 2.9
"""Of an id in a log: Parquet with zstd, ids in no order; `lab.spark.inputs` writes such logs."""
FOLDED_A_SECOND, PUBLISHED_A_SECOND = 4_200_000, 80_000
"""Rows a second and core: docs/performance/spark.md."""
MARK, MARK_FAILING, AUDIT = 100e-6, 150e-6, 15e-6
"""Seconds of CPU of a page: written by the tracker's code, with failures, and checked by the audit's."""
CHANGES = {
    "each alone": (1, 63e-6, 125),
    "ten in a request": (10, 39e-6, 143),
    "by page": (1024, 98e-6, 2171),
}
"""Acks of a change in the archive, the seconds that it takes to parse, and its bytes in a shuffle."""
ANSWER, COUNTED_ANSWER = 0.01, 0.04
"""Seconds that DynamoDB is assumed to take for a request, and for a transaction of fifty pages."""


@dataclass(frozen=True, slots=True)
class Step:
    """A stage of a job: its *tasks*, the *seconds* until the last ends, the *bytes* that it shuffles."""

    name: str
    tasks: int
    seconds: float
    bytes: float = 0

    @property
    def cells(self) -> tuple[str, ...]:
        """Return its row of the table."""
        shuffled = f"{self.bytes / 1e9:,.1f} GB" if self.bytes else ""
        return self.name, f"{self.tasks:,}", _rounded(self.seconds), shuffled


def _rounded(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds:,.1f} s"


def steps() -> Iterator[Step]:
    """Yield the steps of the table."""
    yield Step("`fan_out` to files", SLOTS, _in_waves(SLOTS, ITEMS / SLOTS / PUBLISHED_A_SECOND))
    yield from (_fold(megabytes) for megabytes in (50, 5))
    yield from _marked()
    yield Step(
        "`audit`: the task of the batch",
        1,
        AUDIT * (1 + sum(tail.number + 1 for tail in tails(ITEMS, SHAPE))),
    )
    yield _by_keys("`reconcile`, one leaf of a hundred open", PAGES // 100)
    for acks, (each, seconds, size) in CHANGES.items():
        changes = ITEMS / each
        yield Step(f"`history`, acked {acks}", SLOTS, changes * seconds / SLOTS, changes * size)


def _in_waves(tasks: int, seconds: float) -> float:
    return ceil(tasks / SLOTS) * seconds


def _fold(megabytes: int) -> Step:
    """Return the fold of logs of this size; each task has most blocks, because the ids are in no order."""
    size = megabytes * 1_000_000
    files = [ListedFile(f"{number}", size) for number in range(ceil(ITEMS * ROW_BYTES / size))]
    dealt = shares(files, SLOTS)
    seconds = max(map(len, dealt)) * size / ROW_BYTES / FOLDED_A_SECOND
    name = f"`bulk_ack`, logs of {megabytes} MB: fold"
    items = ITEMS / BLOCKS / len(dealt)
    packed = items * bitmaps.OFFSET.itemsize if items <= bitmaps.SPARSE else bitmaps.BLOCK_BYTES
    return Step(name, len(dealt), _in_waves(len(dealt), seconds), len(dealt) * BLOCKS * packed)


def _marked() -> Iterator[Step]:
    tasks = write_tasks(BLOCKS, SLOTS)
    yield Step("its pages, none with a failure", tasks, _in_waves(tasks, PAGES / tasks * MARK))
    counted = PAGES * MARK_FAILING + ceil(PAGES / PAGES_A_COUNT) * COUNTED_ANSWER
    yield Step("its pages, each with a failure", 1, counted)


def _by_keys(name: str, open_leaves: int) -> Step:
    """Return the reads of a batch, whose open leaves are spread evenly over its branches."""
    branches = -(-ITEMS // SHAPE.width(1))
    requests = 1 + ceil(min(open_leaves / branches, len(Branch(0, ITEMS, SHAPE).leaves)) / LEAVES_A_READ)
    return Step(name, branches, _in_waves(branches, requests * ANSWER))


def table() -> str:
    """Return the steps as a table in Markdown."""
    head = ("step", "tasks", "until the last ends", "shuffled")
    return tables.table(head, [step.cells for step in steps()])


if __name__ == "__main__":
    print(table())
