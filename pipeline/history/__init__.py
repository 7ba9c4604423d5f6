"""The lifecycle of batches from the archive of table changes: Parquet tables and an HTML report.

from pipeline.history import Sources, report

report(spark, Sources("s3://bucket/changes"), "out")  # out/batches, out/items, ..., out/report.html
"""

from pipeline.history.building import Sources
from pipeline.history.changes.archive import Days, NotAnArchive
from pipeline.history.reporting import report

__all__ = ["Days", "NotAnArchive", "Sources", "report"]
