"""The snapshot that the options of a job select."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

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
