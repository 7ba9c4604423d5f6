"""Which rows of a source are outstanding: frames in, a frame out.

No item id is expanded to be looked for. The leaves that have anything outstanding are few and small, so they
go to the rows: each row's page and bit follow from its position, and the bit is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline import bits, schemas, transforms
from pipeline.bits import Longs, Words

WORDS_A_PAGE = bits.WORD_BYTES // 8


@dataclass(frozen=True, slots=True)
class Part:
    """A group in its batch of *total* items: it has *upto* of them, from the item *start* on."""

    batch_id: str
    group_id: str
    start: int
    upto: int
    total: int
    page_bits: int

    @property
    def leaves(self) -> range:
        """The leaf pages that its items lie in."""
        return range(self.start // self.page_bits, (self.start + self.upto - 1) // self.page_bits + 1)


def wanted(leaves: DataFrame, pages: DataFrame, part: Part, failed: bool) -> DataFrame:
    """WANTED of the numbers *leaves* (page), from the PAGES of its batch; *failed* items only if so wished.

    A leaf that is not stored has nothing acked; one that has nothing to be found is left out.
    """
    marks = "failed" if failed else "CAST(NULL AS BINARY) AS failed"
    own = pages.where((F.col("batch_id") == part.batch_id) & (F.col("level") == 0))
    stored = own.selectExpr("page", "bits", marks)
    joined = leaves.join(stored, on="page", how="left").select("page", "bits", "failed")
    return joined.mapInArrow(partial(_wanted, page_bits=part.page_bits, total=part.total), schemas.WANTED)


def unfinished(positions: DataFrame, wanted: DataFrame, part: Part) -> DataFrame:
    """OUTSTANDING with *record*: the rows of *positions* (position, record) whose item is wanted.

    The *position* of *positions* is an item's index in its group; from here on it is the place in the batch.
    """
    index, place = F.col("position").alias("index"), (F.col("position") + part.start).alias("position")
    rows = positions.select(index, place, "record")
    page, bit = F.expr(f"position div {part.page_bits}"), F.expr(f"cast(position % {part.page_bits} as int)")
    placed = rows.select("index", "position", page.alias("page"), bit.alias("bit"), "record")
    joined = placed.join(wanted, on="page", how="inner")
    found = joined.where(_is_set("outstanding") | _is_set("failed"))
    item_id = transforms.item_id(part.batch_id, part.group_id, "index")
    return found.select("position", item_id, _is_set("failed").alias("failed"), "record")


def _is_set(words: str) -> Column:
    """Whether the column's bit is set, of which there may be none; *bit* is its number."""
    return F.expr(f"coalesce(getbit(get({words}, cast(bit div 64 as int)), bit % 64) = 1, false)")


def _wanted(leaves: Iterator[pa.RecordBatch], page_bits: int, total: int) -> Iterator[pa.RecordBatch]:
    for batch in leaves:
        pages = batch.column("page").to_numpy()
        acked, failed = (_rows(batch.column(name)) for name in ("bits", "failed"))
        outstanding = ~acked & held(pages, page_bits, total)
        kept = (outstanding | failed).any(axis=1)
        columns = [pa.array(pages[kept]), _as_words(outstanding[kept]), _as_words(failed[kept])]
        yield pa.RecordBatch.from_arrays(columns, names=schemas.WANTED.names)


def _rows(words: pa.Array) -> Words:
    """The words of each page; none are set of a page that is not stored."""
    return bits.as_rows(word or bytes(bits.WORD_BYTES) for word in words.to_pylist())


def held(pages: Longs, page_bits: int, total: int) -> Words:
    """The words of all items that each page has; the last page may have fewer than the others."""
    sizes = np.clip(total - pages * page_bits, 0, page_bits)
    return np.packbits(np.arange(bits.WORD_BYTES * 8) < sizes[:, None], axis=1, bitorder="little")


def _as_words(rows: Words) -> pa.Array:
    """One list of 16 longs a page, or of none where no bit is set."""
    held = rows.any(axis=1)
    longs = np.ascontiguousarray(rows[held]).view("<i8").ravel()
    offsets = np.concatenate([[0], np.cumsum(held * WORDS_A_PAGE)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(longs))
