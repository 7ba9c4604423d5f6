"""Finds the rows of a source whose items are outstanding or failed: frames in, a frame out.

No outstanding item is expanded to its id. The few leaves with anything outstanding are joined to the rows
instead: a row's page and bit follow from its position, and the bit is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.fan_out import messages
from pipeline.reconcile.rules import Part
from pipeline.shared_by_jobs import bitmaps, schemas
from pipeline.shared_by_jobs.bitmaps import Masks

LONGS_A_PAGE = bitmaps.MASK_BYTES // 8
"""Spark's `getbit` tests bits of a long, so a page mask is passed as an array of longs."""


def wanted(leaves: DataFrame, pages: DataFrame, part: Part, failed: bool) -> DataFrame:
    """Return WANTED of the page numbers *leaves* (page), from PAGES; failed items only if *failed*.

    A leaf that is not stored has no acks. A leaf without a wanted item is left out.
    """
    marks = "failed" if failed else "CAST(NULL AS BINARY) AS failed"
    own = pages.where((F.col("batch_id") == part.batch_id) & (F.col("level") == 0))
    stored = own.selectExpr("page", "bits", marks)
    joined = leaves.join(stored, on="page", how="left").select("page", "bits", "failed")
    return joined.mapInArrow(partial(_wanted, page_bits=part.page_bits, total=part.total), schemas.WANTED)


def unfinished(positions: DataFrame, wanted: DataFrame, part: Part) -> DataFrame:
    """Return OUTSTANDING with *record*: the rows of *positions* (position, record) whose item is wanted.

    In *positions* the position is an item's index in its group; in the result it is that in the batch.
    """
    index, position = F.col("position").alias("index"), (F.col("position") + part.start).alias("position")
    rows = positions.select(index, position, "record")
    page, bit = F.expr(f"position div {part.page_bits}"), F.expr(f"cast(position % {part.page_bits} as int)")
    located = rows.select("index", "position", page.alias("page"), bit.alias("bit"), "record")
    joined = located.join(wanted, on="page", how="inner")
    found = joined.where(_is_set("outstanding") | _is_set("failed"))
    item_id = messages.item_id(part.batch_id, part.group_id, "index")
    return found.select("position", item_id, _is_set("failed").alias("failed"), "record")


def _is_set(longs: str) -> Column:
    """Return whether bit number *bit* of the column *longs* is set; an empty array has no bit set."""
    return F.expr(f"coalesce(getbit(get({longs}, cast(bit div 64 as int)), bit % 64) = 1, false)")


def _wanted(leaves: Iterator[pa.RecordBatch], page_bits: int, total: int) -> Iterator[pa.RecordBatch]:
    for batch in leaves:
        pages = batch.column("page").to_numpy()
        acked, failed = (bitmaps.masks_of(batch.column(name).to_pylist()) for name in ("bits", "failed"))
        outstanding = ~acked & bitmaps.item_masks(pages, page_bits, total)
        kept = (outstanding | failed).any(axis=1)
        columns = [pa.array(pages[kept]), _as_longs(outstanding[kept]), _as_longs(failed[kept])]
        yield pa.RecordBatch.from_arrays(columns, names=schemas.WANTED.names)


def _as_longs(rows: Masks) -> pa.Array:
    """Return a list of 16 longs per page, empty if no bit is set."""
    held = rows.any(axis=1)
    longs = np.ascontiguousarray(rows[held]).view("<i8").ravel()
    offsets = np.concatenate([[0], np.cumsum(held * LONGS_A_PAGE)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(longs))
