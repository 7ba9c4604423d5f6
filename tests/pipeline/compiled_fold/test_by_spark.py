"""Logs in Parquet of other writers fold on Spark to the bits and rejects that NumPy finds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from pipeline.bulk_ack import frames
from pipeline.bulk_ack.fold import FOLDED, fold_files
from pipeline.bulk_ack.on_spark import SparkEngine
from pipeline.bulk_ack.rows import Collected
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
    rows = frames.fold(spark, listed, tables, TENANT).collect()

    by_spark = [pa.RecordBatch.from_pylist([row.asDict(True)], FOLDED) for row in rows]
    assert united(by_spark) == (acks, rejected, pages)
    items = sum(int.from_bytes(page["bits"], "little").bit_count() for page in pages)
    facts = {"acks": acks + len(rejected), "items": items, "rejected": len(rejected)}
    assert events["estimate"].items() >= facts.items()


def united(out: Iterable[pa.RecordBatch]) -> tuple[int, list[dict], list[dict]]:
    """The number of acks of all tasks, their rejected rows in order, and the bits of all pages."""
    collected, batches = Collected(), list(out)
    for batch in batches:
        collected.take(batch)
    pages = [row for batch in collected.page_masks() for row in batch.to_pylist()]
    return collected.acks, sorted(in_columns(batches)["rejected"], key=str), pages
