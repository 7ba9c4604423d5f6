"""The snapshot that the options of a job select."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from fanin.tracker import BatchKey
from pipeline.table_frames import frames
from pipeline.table_frames.frames import TableSnapshot
from pipeline.table_frames.options import exports_of, tables_of


def snapshot_of(
    spark: SparkSession, options: argparse.Namespace, batch_id: str | None = None
) -> TableSnapshot:
    """Return the snapshot of one batch or of all, from the exports if there are any."""
    exports, tables = exports_of(options), tables_of(options)
    if exports or tables is None:
        return frames.from_exports(spark, exports, batch_id)
    return frames.from_tables(spark, tables, batch_id, options.rate)


def snapshot_of_batch(
    spark: SparkSession, options: argparse.Namespace, batch_id: str, failures: bool
) -> TableSnapshot:
    """Return the snapshot of one batch: from the exports, by its tenant's keys, or by a Scan.

    *failures*: the leaves with failed items are wanted too.
    """
    tables = tables_of(options)
    if exports_of(options) or tables is None or not options.tenant:
        return snapshot_of(spark, options, batch_id)
    return frames.from_batch(spark, tables, BatchKey(options.tenant, batch_id), failures, options.rate)
