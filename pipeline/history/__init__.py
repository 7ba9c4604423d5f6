"""The lifecycle of batches from the archive of table changes, as Parquet tables; ``fanin report`` shows them.

from pipeline.history import Sources, build

build(spark, Sources("s3://bucket/changes"), "out")  # out/batches, out/items, ...
"""

from pipeline.history.building import Sources, build
from pipeline.history.changes.archive import Days, NotAnArchive

__all__ = ["Days", "NotAnArchive", "Sources", "build"]
