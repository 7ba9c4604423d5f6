"""Logs in Parquet of other writers fold on Spark to the bits and rejects that NumPy finds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from pipeline.bulk_ack import frames
from pipeline.bulk_ack.fold import fold_files
from pipeline.bulk_ack.on_spark import SparkEngine
from pipeline.bulk_ack.rows import Collected, to_page_masks, unpacked
from pipeline.bulk_ack.run import BulkAckRequest, preview
from pipeline.compiled_fold import groups
from tests.pipeline.compiled_fold.other_writers import FOLDER, TENANT, store
from tests.pipeline.compiled_fold.test_groups import in_columns


def test_a_dry_run_by_spark_has_the_bits_and_rejects_of_other_writers_files(spark, tables):
    tracked = store()
    tables.store.create(*tracked.batches.values())
    engine, request = SparkEngine(spark), BulkAckRequest(tables, TENANT, "", "run")
    listed = engine.list_logs([str(FOLDER)])
    with patch.object(groups, "kernel", lambda: None):
        acks, rejected, pages = united(fold_files([file.path for file in listed], tracked, TENANT))
    events: dict[str, dict[str, Any]] = {}

    preview(engine, listed, request, lambda event, facts: events.update({event: facts}))
    with engine.fold(listed, request, lambda *_: None) as folded:
        blocks = frames.blocks(folded.frame).toArrow().to_batches()
        by_spark = [row.asDict() for row in frames.rejected(folded.frame).collect()]

    assert sorted(by_spark, key=str) == rejected
    assert pages_of(to_page_masks(unpacked(blocks))) == pages
    assert (folded.counts.acks, sum(folded.counts.rejected.values())) == (acks, len(rejected))
    items = sum(int.from_bytes(page["bits"], "little").bit_count() for page in pages)
    facts = {"acks": acks + len(rejected), "items": items, "rejected": len(rejected)}
    assert facts == {name: events["estimate"][name] for name in facts}


def united(out: Iterable[pa.RecordBatch]) -> tuple[int, list[dict], list[dict]]:
    """The number of acks of all tasks, their rejected rows in order, and the bits of all pages."""
    collected, batches = Collected(), list(out)
    for batch in batches:
        collected.take(batch)
    rejected = sorted(in_columns(batches)["rejected"], key=str)
    return collected.acks, rejected, pages_of(collected.page_masks())


def pages_of(masks: Iterable[pa.RecordBatch]) -> list[dict]:
    """The rows of PAGE_MASKS, by batch and page."""
    found = [row for batch in masks for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["batch_id"], row["page"]))
