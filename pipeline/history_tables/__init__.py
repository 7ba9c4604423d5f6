"""Lifecycles of batches, tasks and jobs, as Parquet tables from the archive; ``fanin report`` shows them.

The promise: the tables follow from the archive alone, so a build replaces those of an earlier one.

from pipeline.history_tables import Sources, build

build(spark, Sources("s3://bucket/changes"), "out")  # out/batches, out/items, ...

Read in this order: ``change_frames/``: files, lines and rows. ``lifecycle.py``: batches. ``items.py``,
``deliveries.py``, ``latency.py``: items, their deliveries and times. ``grouping.py``: tasks and jobs.
``building.py``: all tables.
"""

from pipeline.history_tables.building import Sources, build
from pipeline.history_tables.change_frames.archive import Days, NotAnArchive

__all__ = ["Days", "NotAnArchive", "Sources", "build"]
