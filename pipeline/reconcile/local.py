"""reconcile in processes of this machine, without Spark."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from fanin.tracker import BatchKey
from pipeline.engine_without_spark import output
from pipeline.engine_without_spark.processes import Clock, Processes
from pipeline.fan_out import arrow_files
from pipeline.fan_out.arrow_files import StoredManifest
from pipeline.fan_out.parts import SPARKS_SCHEMA
from pipeline.reconcile.rules import Label, Part, ReconcileRequest, batch_of, refuse_malformed
from pipeline.reconcile.steps import labelled_part, report_batch, report_saved, require_manifest
from pipeline.shared_by_jobs import bitmaps
from pipeline.shared_by_jobs.bitmaps import Longs
from pipeline.shared_by_jobs.output import refuse_committed
from pipeline.shared_by_jobs.progress import Report
from pipeline.table_frames import export
from pipeline.table_frames.branches import Branch, branches_of, read_branch
from pipeline.table_frames.export import DataFile
from pipeline.table_frames.rows import Facts, facts_of
from pipeline.table_frames.scanning import Segment, location, row_of, scan
from pipeline.table_frames.tables import Tables

S = TypeVar("S")
T = TypeVar("T")

SAVED = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("item_id", pa.string()),
        pa.field("failed", pa.bool_(), nullable=False),
        pa.field("record", pa.string()),
    ]
)
_TYPES = {"position": "long", "item_id": "string", "failed": "boolean", "record": "string"}
SEGMENTS_A_CORE = 4


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of one batch in both tables, as they were at *taken_at*: rows of ROWS."""

    taken_at: datetime
    rows: list[Facts]

    def of(self, kind: str) -> list[Facts]:
        """Return the pages or the batches among them."""
        return [row[kind] for row in self.rows if row.get(kind)]

    @property
    def malformed(self) -> list[tuple[str, str]]:
        """Return the location and the problem of each row that the tracker cannot have written."""
        return [(row["location"], row["problem"]) for row in self.rows if row.get("problem")]


def from_exports(roots: Sequence[str], batch_id: str, cores: int) -> TableRows:
    """Return the rows of a batch in the exports *roots*. Raises NotAnExport."""
    found = [export.describe(root) for root in roots]
    files = [file for each in found for file in each.files]
    are_here = all("://" not in root for root in roots)
    return TableRows(
        min(each.taken_at for each in found), _read(_file_rows, files, batch_id, cores, are_here)
    )


def from_tables(tables: Tables, batch_id: str, rate: float | None, cores: int) -> TableRows:
    """Return the rows of a batch in the live tables, by a Scan of *rate* read units a second."""
    of, names = cores * SEGMENTS_A_CORE, (tables.batches, tables.pages)
    share = rate / cores if rate else None
    segments = [Segment(tables, name, number, of, share) for name in names for number in range(of)]
    return TableRows(datetime.now(UTC), _read(_segment_rows, segments, batch_id, cores, True))


def from_batch(tables: Tables, key: BatchKey, failures: bool, rate: float | None, cores: int) -> TableRows:
    """Return the rows of the batch *key*, by reads of its leaves in place of a Scan of all batches.

    As `frames.from_batch` reads them.
    """
    taken_at, batch = datetime.now(UTC), tables.store.get(key)
    if batch is None:
        return TableRows(taken_at, [])
    branches = branches_of(batch)
    share = rate / max(1, min(cores, len(branches))) if rate else None
    pages = _read(_branch_rows, branches, _LeafReads(tables, key, failures, share), cores, True)
    return TableRows(taken_at, [{"batch": facts_of(batch)}, *pages])


@dataclass(frozen=True, slots=True)
class _LeafReads:
    """What the processes share that read leaves; *rate*: pages a second of one of them."""

    tables: Tables
    key: BatchKey
    failures: bool
    rate: float | None


def _read(
    work: Callable[[T, S], list[Facts]], tasks: Sequence[T], shared: S, cores: int, may_fork: bool
) -> list[Facts]:
    processes = Processes(max(1, min(cores, len(tasks))), may_fork)
    return list(chain.from_iterable(processes.run(work, tasks, shared, Clock(60.0, _nothing))))


def _nothing() -> None:
    """Report nothing."""


def _file_rows(file: DataFile, about: str) -> list[Facts]:
    return [row for line in export.lines(file, about) if any((row := row_of(line)).values())]


def _segment_rows(segment: Segment, about: str) -> list[Facts]:
    lines = (export.Line(location(segment, item), item) for item in scan(segment, about))
    return [row for line in lines if any((row := row_of(line)).values())]


def _branch_rows(branch: Branch, reads: _LeafReads) -> list[Facts]:
    pages = read_branch(reads.tables.store, reads.key, branch, reads.failures, reads.rate)
    return [{"page": page} for page in pages]


def reconcile(found: TableRows, request: ReconcileRequest, report: Report) -> dict[str, int]:
    """Save the outstanding items at ``request.saved``; return the numbers outstanding and failed."""
    started = time.monotonic()
    refuse_committed(request.saved)
    output.refuse_foreign(request.saved, SAVED.names)
    refuse_malformed(found.malformed)
    batches = [row for row in found.of("batch") if row["batch_id"] == request.batch_id]
    batch = batch_of(batches, request.batch_id, found.taken_at)
    report_batch(batch, found.taken_at, report)
    source = manifest_at(request.source)
    rows = sum(part.rows for part in source.parts)
    part, label = labelled_part(batch, rows, request, found.taken_at)
    outstanding, failed = wanted(found.of("page"), part, request.failed)
    _save(request.saved, label, _saved_rows(source, part, outstanding, failed))
    counts = {"outstanding": outstanding.size, "failed": failed.size}
    report_saved(counts, rows, request.saved, started, report)
    return counts


def manifest_at(path: str) -> StoredManifest:
    """Return the manifest committed at *path*, with its rows. Raises CannotReconcile."""
    require_manifest(path)
    return arrow_files.with_rows(arrow_files.load(path))


def wanted(pages: Sequence[Facts], part: Part, failed: bool) -> tuple[Longs, Longs]:
    """Return the indexes of the items of *part* that are outstanding, and of those that failed, ascending.

    *pages*: rows of PAGES. A leaf that is not stored has no acks. *failed*: whether failed ones are wanted.
    """
    leaves = np.arange(part.leaves.start, part.leaves.stop)
    stored = {page["page"]: page for page in pages if not page["level"] and page["batch_id"] == part.batch_id}
    none: Facts = {}
    acked, marked = (
        bitmaps.masks_of(stored.get(leaf, none).get(name) for leaf in leaves.tolist())
        for name in ("bits", "failed")
    )
    items = ~acked & bitmaps.item_masks(leaves, part.page_bits, part.total)
    marked = marked if failed else np.zeros_like(marked)
    return _indexes(leaves, items, part), _indexes(leaves, marked, part)


def _indexes(leaves: Longs, masks: bitmaps.Masks, part: Part) -> Longs:
    indexes = bitmaps.positions(leaves, masks, part.page_bits) - part.start
    return indexes[(indexes >= 0) & (indexes < part.upto)]


def _saved_rows(
    source: StoredManifest, part: Part, outstanding: Longs, failed: Longs
) -> Iterator[pa.RecordBatch]:
    both = np.union1d(outstanding, failed)
    for index, records in arrow_files.rows_at(source, both):
        numbers = index.to_numpy()
        ids = [f"{part.batch_id}:{part.group_id}:{number}" for number in numbers.tolist()]
        columns = [numbers + part.start, ids, np.isin(numbers, failed), records]
        arrays = map(_array, columns, SAVED.types)
        yield pa.RecordBatch.from_arrays(list(arrays), schema=SAVED)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values, kind)


def _save(path: str, label: Label, found: Iterator[pa.RecordBatch]) -> None:
    fields = [
        {
            "name": field.name,
            "type": _TYPES[field.name],
            "nullable": field.nullable,
            "metadata": label.metadata if field.name == "position" else {},
        }
        for field in SAVED
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    output.commit(path, SAVED.with_metadata({SPARKS_SCHEMA: schema}), found)
