"""Lifecycles of batches, tasks and jobs, as Parquet tables from the archive; ``fanin report`` shows them.

from pipeline.history import Sources, build

build(spark, Sources("s3://bucket/changes"), "out")  # out/batches, out/items, ...
"""

from pipeline.history.building import Sources, build
from pipeline.history.change_frames.archive import Days, NotAnArchive

__all__ = ["Days", "NotAnArchive", "Sources", "build"]
