"""Writes acks: a task folds its rows to one bitmap a page, and marks each page once.

Tasks that are run again, and rows that come twice, change nothing. Of a page that several tasks have acks of,
each writes its own; a success heals a failure, whichever comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import Row, datasource
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema

from pipeline import acklogs, acks, marking, schemas
from pipeline.bits import BLOCK_BYTES
from pipeline.datasource.options import Refused, Writing
from pipeline.folding import Folder

NAMED = 5
"""Refused rows that an error names."""
BLOCKS_A_BATCH = 256
BLOCK = to_arrow_schema(schemas.BLOCK)
# From Spark 4.1 on a stream hands rows over as Arrow has them; before that one by one.
StreamWriter = getattr(datasource, "DataSourceStreamArrowWriter", DataSourceStreamWriter)
BY_BATCHES = StreamWriter is not DataSourceStreamWriter


class RefusedAcks(ValueError):
    """Rows whose ids name no item of the tenant's; the message says how many, why, and names some."""


@dataclass
class Marked(WriterCommitMessage):
    """What the last attempt of one task saw. It is no truth to add up: what is stored is."""

    rows: int
    refused: int


@dataclass(slots=True)
class Heap:
    """What a task's folder gave: the blocks together, reasons, and what was refused."""

    blocks: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    reasons: list[marking.Row] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)

    def take_all(self, folded: Iterable[pa.RecordBatch]) -> None:
        """Keep rows of FOLDED."""
        for row in (row for batch in folded for row in batch.to_pylist()):
            if row["block"]:
                place = row["block"]["batch_id"], row["block"]["block"]
                given = {name: value for name, value in row["block"].items() if value is not None}
                self.blocks.setdefault(place, dict.fromkeys(BLOCK.names, bytes(BLOCK_BYTES))).update(given)
            elif row["reason"]:
                self.reasons.append(row["reason"])
            elif row["aside"]:
                self.refused[row["aside"]["refusal"]] += 1
                self.named += [repr(row["aside"]["item_id"])][: NAMED - len(self.named)]

    def blocks_held(self) -> Iterator[pa.RecordBatch]:
        """All that was acked, rows of BLOCK without a null, batch by batch."""
        rows = [self.blocks[place] for place in sorted(self.blocks)]
        for at in range(0, len(rows), BLOCKS_A_BATCH):
            yield pa.RecordBatch.from_pylist(rows[at : at + BLOCKS_A_BATCH], schema=BLOCK)

    def check(self) -> None:
        """Raise RefusedAcks where any was."""
        if self.refused:
            why = ", ".join(f"{count} {word}" for word, count in sorted(self.refused.items()))
            some = ", ".join(self.named)
            raise RefusedAcks(
                f'{why}: {some}, ...; nothing of this task was acked. refused="skip" passes them over'
            )


@dataclass(frozen=True)
class AckWriter(DataSourceArrowWriter):
    """Rows with `item_id` (or `itemId`), and, if they like, `outcome` and `reason`."""

    wish: Writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Marked:
        return write_acks(self.wish, iterator)


@dataclass(frozen=True)
class AckStreamWriter(StreamWriter):
    """The same for each micro-batch; one that is repeated changes nothing."""

    wish: Writing

    def write(self, iterator: Iterator[Any]) -> Marked:
        return write_acks(self.wish, iterator if BY_BATCHES else as_batches(iterator))


def write_acks(wish: Writing, batches: Iterable[pa.RecordBatch]) -> Marked:
    """Ack the rows of one task. Raises RefusedAcks before any is acked."""
    target = wish.target
    folder, heap, rows = Folder(target.tables.store, target.tenant), Heap(), 0
    for batch in batches:
        rows += batch.num_rows
        heap.take_all(folder.take(acklogs.portion(batch), "the frame"))
    heap.take_all(folder.blocks())
    if wish.refused is Refused.FAIL:
        heap.check()
    for _ in marking.marker(target).mark_all(marking.portions(acks.to_words(heap.blocks_held()))):
        pass
    marking.keep_reasons(target, heap.reasons)
    return Marked(rows, heap.refused.total())


def as_batches(rows: Iterator[Row]) -> Iterator[pa.RecordBatch]:
    """*rows* as Arrow has them, those columns that an ack may have."""
    while some := [row.asDict() for row in islice(rows, acklogs.ROWS_A_BATCH)]:
        names = [name for name in acklogs.NAMES if name in some[0]]
        yield pa.RecordBatch.from_pylist(some, schema=pa.schema([(name, pa.string()) for name in names]))
