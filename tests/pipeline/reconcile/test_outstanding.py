"""Bits are tested by Spark where the tracker's rules say they lie, and few ranges of rows are read."""

from __future__ import annotations

import random
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F

from fanin.tracker import GroupId, ItemId
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import Page
from fanin.tracker.rules.tree import stretches
from pipeline.reconcile import outstanding
from pipeline.reconcile.outstanding import Part
from pipeline.reconcile.run import covering
from pipeline.shared_by_jobs import schemas
from pipeline.table_frames.rows import read_row
from tests.pipeline.exporting import page_row
from tests.pipeline.table_frames.test_rows import BATCH, KEY

SALT = b"salt"


def part_of(start: int, upto: int, total: int, page_bits: int) -> Part:
    group = GroupId.make(SALT, BATCH, start, upto)
    return Part(BATCH, str(group), start, upto, total, page_bits)


def pages_frame(spark, pages: dict[int, Page]):
    """PAGES: leaves, with a parent and another batch's leaf that must not be taken for one of them."""
    mine = [page_row(PageKey(KEY.batch, 0, number), page) for number, page in pages.items()]
    another = page_row(PageKey(replace(KEY.batch, batch_id=str(uuid4())), 0, 0), Page(0b1010, 2))
    rows = [read_row(row)[0] for row in (*mine, page_row(KEY, Page(1, 1)), another)]
    return spark.createDataFrame(rows, schemas.PAGES)


def positions_frame(spark, count: int):
    return spark.range(0, count, 1, 3).select(F.col("id").alias("position"), F.struct("id").alias("record"))


def found(spark, part: Part, pages: dict[int, Page], failed: bool = False) -> list[tuple[int, int, bool]]:
    """(position, row of the source, failed), and the leaves that were sent to the rows."""
    leaves = spark.createDataFrame([(number,) for number in part.leaves], "page long")
    masks = outstanding.wanted(leaves, pages_frame(spark, pages), part, failed)
    rows = outstanding.unfinished(positions_frame(spark, part.upto), masks, part).collect()
    assert {row.item_id for row in rows} == {
        str(ItemId(BATCH, part.group_id, row.position - part.start)) for row in rows
    }
    return sorted((row.position, row.record.id, row.failed) for row in rows)


def in_python(part: Part, pages: dict[int, Page], failed: bool = False) -> list[tuple[int, int, bool]]:
    """The same by the tracker's rules, item by item."""
    expected = []
    for index in range(part.upto):
        at = part.start + index
        ((number, bit, _),) = stretches(at, at, part.page_bits)
        page = pages.get(number, Page())
        if page.unset(1 << bit):
            expected.append((at, index, False))
        elif failed and page.failed >> bit & 1:
            expected.append((at, index, True))
    return expected


def random_pages(chance: random.Random, total: int, page_bits: int) -> dict[int, Page]:
    """Leaves as they may be: not there, partial, with failures, full, compacted; the last one short."""
    pages = {}
    for number in range(-(-total // page_bits)):
        size = min(page_bits, total - number * page_bits)
        acked = chance.choice([0, chance.getrandbits(size), chance.getrandbits(size), (1 << size) - 1])
        failed = acked & chance.getrandbits(size) if chance.random() < 0.5 else 0
        page = Page(acked, acked.bit_count(), size if number == total // page_bits else None, failed=failed)
        if acked == (1 << size) - 1 and chance.random() < 0.5:
            page = page.compact()
        if acked:
            pages[number] = page
    return pages


@pytest.mark.parametrize(
    ("start", "upto", "total", "page_bits"),
    [(0, 4096, 4096, 1024), (700, 2000, 3000, 1024), (129, 64, 500, 7)],
)
def test_spark_finds_the_items_that_the_trackers_rules_find(spark, start, upto, total, page_bits):
    part = part_of(start, upto, total, page_bits)
    pages = random_pages(random.Random(total), total, page_bits)

    assert found(spark, part, pages, failed=True) == in_python(part, pages, failed=True)


def rows_of(start: int, upto: int, page_bits: int = 10) -> Part:
    return Part("batch", "group", start, upto, start + upto, page_bits)


@given(st.integers(0, 25), st.integers(1, 300), st.integers(1, 8), st.data())
def test_few_ranges_hold_all_items_of_the_leaves(start, upto, most, data):
    part = rows_of(start, upto)
    pages = data.draw(st.sets(st.sampled_from(list(part.leaves))))

    ranges = covering(np.array(sorted(pages, reverse=True), np.int64), part, most, share=0.5)

    wanted = {index for index in range(upto) if (start + index) // part.page_bits in pages}
    held = [index for first, last in ranges for index in range(first, last + 1)]
    assert wanted <= set(held) <= set(range(upto))
    assert (len(ranges) <= most, sorted(set(held))) == (True, held)
    few = len(wanted) * 2 <= upto
    assert most < len(pages) or not few or set(held) == wanted
