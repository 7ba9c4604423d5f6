"""A manifest of one large batch, and exports of its tables after all but some of its items were acked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from fanin.tracker import Batch, OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page, mask_of
from pipeline.fan_out import json_texts, manifest
from tests.pipeline.exporting import batch_row, page_row, write_export

TENANT = "111122223333"
PART_ROWS = 5_000_000
"""Rows of a part: about those of a 128 MB split of a dataset of small rows."""
EXPORT_FILES = 32
RUNS, WINDOWS = 4, 6
WINDOW_ROWS = 100_000
WRITING: dict[str, Any] = {
    "compression": "zstd",
    "data_page_version": "2.0",
    "max_rows_per_page": 20_000,
    "write_page_index": True,
    "use_dictionary": ["part"],
}
"""Settings of Spark's writer and its defaults."""
SECTIONS = ("libs", "utils", "net", "admin", "doc", "python", "x11")
IN_PLACES, SCATTERED = "in ten places", "scattered"

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Exported:
    """A batch whose items are acked but for *outstanding*, and the folders of its exports."""

    batch_id: str
    group_id: str
    outstanding: Longs
    batches: str
    pages: str

    @property
    def arguments(self) -> list[str]:
        """Return the arguments of the job that name them."""
        exports = ["--batches-export", self.batches, "--pages-export", self.pages]
        return ["--batch", self.batch_id, *exports]


def write_manifest(spark: SparkSession, path: Path, items: int, part_rows: int = PART_ROWS) -> None:
    """Write the manifest of *items* rows; the record's *number* is the position.

    Spark writes one of one row, whose schema and label the parts take.
    """
    row = spark.range(0, 1, 1, 1).selectExpr("id AS number", "id AS digest", "'' AS section")
    manifest.write(row, str(path), run="benchmark", source="benchmark")
    (written,) = path.glob("part-*")
    schema = pq.read_schema(written)
    for file in (written, written.with_name(f".{written.name}.crc")):
        file.unlink()
    starts = range(0, items, part_rows)
    with ThreadPoolExecutor() as pool:
        names = [path / f"part-{part:05}.zstd.parquet" for part in range(len(starts))]
        rows = [min(part_rows, items - start) for start in starts]
        list(pool.map(partial(_write_part, schema), names, range(len(starts)), starts, rows))


def _write_part(schema: pa.Schema, path: Path, part: int, start: int, rows: int) -> None:
    """Write one part in one row group, with the encodings that Spark takes for a manifest."""
    ord_ = np.arange(rows)
    digest = np.random.default_rng(part).integers(0, 1 << 62, rows)
    section = pa.DictionaryArray.from_arrays(pa.array(ord_ % len(SECTIONS), pa.int32()), SECTIONS)
    columns = [pa.array(start + ord_), pa.array(digest), section]
    record = json_texts.rows_of(pa.RecordBatch.from_arrays(columns, names=["number", "digest", "section"]))
    table = pa.Table.from_arrays(
        [pa.array(np.full(rows, part, np.int32)), pa.array(ord_), record], schema=schema
    )
    pq.write_table(table, path, row_group_size=rows, **WRITING)


def write_exports(folder: Path, items: int, outstanding: Longs) -> Exported:
    """Write both exports of a closed batch of *items*; its full leaves are compacted."""
    store = MemoryStore()
    tracker = Tracker(store)
    batch_id = tracker.open(TENANT, OpenBatch()).batch_id
    (group,) = tracker.add(TENANT, batch_id, items).groups
    tracker.close(TENANT, batch_id, "benchmark")
    (batch,) = store.batches.values()
    batches = write_export(folder, [batch_row(batch)], table="Batches")
    pages = write_export(folder, _leaves(batch, outstanding), table="Pages", files=EXPORT_FILES)
    return Exported(batch_id, group.id, outstanding, batches, pages)


def outstanding_items(spread: str, items: int, missing: int) -> Longs:
    """Return *missing* positions below *items*, ascending: evenly *SCATTERED*, or *IN_PLACES*.

    Of the places, some have neighbours alone, the others neighbours within a window.
    """
    chance = np.random.default_rng(1)
    if spread == SCATTERED:
        edges = np.arange(missing + 1) * items // missing
        return chance.integers(edges[:-1], edges[1:])
    places = RUNS + WINDOWS
    counts = np.diff(np.arange(places + 1) * missing // places)
    width = min(WINDOW_ROWS, items // places)
    starts = np.arange(places) * items // places
    found = [
        start + (np.arange(count) if place < RUNS else chance.choice(width, count, replace=False))
        for place, (start, count) in enumerate(zip(starts, counts, strict=True))
    ]
    return np.sort(np.concatenate(found))


def check(saved: str, exported: Exported) -> None:
    """Raise SystemExit unless exactly the outstanding items were *saved*, each with its id and its row."""
    rows = pq.read_table(saved).sort_by("position")
    head = f"{exported.batch_id}:{exported.group_id}:"
    ids = [f"{head}{position}" for position in exported.outstanding.tolist()]
    numbers = [json.loads(record)["number"] for record in rows["record"].to_pylist()]
    same = np.array_equal(rows["position"].to_numpy(), exported.outstanding)
    if not same or rows["item_id"].to_pylist() != ids or not np.array_equal(numbers, exported.outstanding):
        raise SystemExit(f"{saved} does not hold exactly the {len(ids)} outstanding items")


def _leaves(batch: Batch, outstanding: Longs) -> Iterator[dict[str, Any]]:
    """Yield the row of each leaf page."""
    lost: dict[int, int] = {}
    for position in outstanding.tolist():
        number, bit = divmod(position, batch.page_bits)
        lost[number] = lost.get(number, 0) | 1 << bit
    for number in range(-(-batch.total // batch.page_bits)):
        size = min(batch.page_bits, batch.total - number * batch.page_bits)
        yield page_row(PageKey(batch.key, 0, number), _leaf(size, batch.page_bits, lost.get(number, 0)))


def _leaf(size: int, capacity: int, lost: int) -> Page:
    marked = size if size < capacity else None
    if not lost:
        return Page(n=size, size=marked, compacted=True)
    bits = mask_of(0, size - 1) & ~lost
    return Page(bits, bits.bit_count(), marked)
