"""Writes acks: each task folds its rows to one bitmap per page, and writes each page once.

A task that is run again and a row that occurs twice change nothing. If several tasks have acks of one page,
each writes its own; a success heals a failure, in either order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Row, datasource
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage

from pipeline.bulk_ack import logs, write
from pipeline.bulk_ack.fold import Folder
from pipeline.bulk_ack.rows import Collected
from pipeline.datasource.options import Refused, Writing

NAMED = 5
"""Refused rows that an error lists."""
# From Spark 4.1 on a stream passes Arrow batches; before that, single rows.
if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter as StreamWriter
else:
    StreamWriter = getattr(datasource, "DataSourceStreamArrowWriter", DataSourceStreamWriter)
BY_BATCHES = StreamWriter is not DataSourceStreamWriter


class RefusedAcks(ValueError):
    """Rows whose ids are not items of the tenant; the message has counts by refusal, and some of the ids."""


@dataclass
class Marked(WriterCommitMessage):
    """Counts of one task's last attempt. Do not add them up: only the stored pages are reliable."""

    rows: int
    refused: int


@dataclass(slots=True)
class Found(Collected):
    """The output of a task's folder, with the ids of some refused rows."""

    named: list[str] = field(default_factory=list)

    def take_all(self, folded: Iterable[pa.RecordBatch]) -> None:
        """Add rows of FOLDED."""
        for batch in folded:
            self.take(batch)
            rejected = batch.column("rejected").drop_null().field("item_id")
            self.named += map(repr, rejected[: NAMED - len(self.named)].to_pylist())

    def check(self) -> None:
        """Raise RefusedAcks if any row was refused."""
        if self.rejected:
            why = ", ".join(f"{count} {refusal}" for refusal, count in sorted(self.rejected.items()))
            some = ", ".join(self.named)
            raise RefusedAcks(
                f'{why}: {some}, ...; nothing of this task was acked. refused="skip" skips them'
            )


@dataclass(frozen=True)
class AckWriter(DataSourceArrowWriter):
    """Writes rows with the columns of an ack log."""

    request: Writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Marked:
        return write_acks(self.request, iterator)


@dataclass(frozen=True)
class AckStreamWriter(StreamWriter):
    """Writes the same rows per micro-batch; one that is repeated changes nothing."""

    request: Writing

    def write(self, iterator: Iterator[Any]) -> Marked:
        return write_acks(self.request, iterator if BY_BATCHES else as_batches(iterator))


def write_acks(request: Writing, batches: Iterable[pa.RecordBatch]) -> Marked:
    """Ack the rows of one task. Raises RefusedAcks before any is acked."""
    target = request.target
    folder, found, rows = Folder(target.tables.store, target.tenant), Found(), 0
    for batch in batches:
        rows += batch.num_rows
        found.take_all(folder.take(logs.portion(batch), "the frame"))
    found.take_all(folder.blocks())
    if request.refused is Refused.FAIL:
        found.check()
    for _ in write.marker(target).mark_all(write.portions(found.page_masks())):
        pass
    write.keep_reasons(target, found.reasons)
    return Marked(rows, found.rejected.total())


def as_batches(rows: Iterator[Row]) -> Iterator[pa.RecordBatch]:
    """Yield *rows* as Arrow batches, with the columns of an ack."""
    while some := [row.asDict() for row in islice(rows, logs.ROWS_A_BATCH)]:
        kinds = [(name, logs.KINDS[name]) for name in logs.used(list(some[0]))]
        yield pa.RecordBatch.from_pylist(some, schema=pa.schema(kinds))
