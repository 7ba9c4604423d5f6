"""The history in one call: the tables, then the page over them."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import SparkSession

from pipeline.files import located
from pipeline.history.building import Sources, build
from pipeline.history.collecting import collect
from pipeline.history.document import page
from pipeline.history.facts import History
from pipeline.progress import Report, watching

PAGE = "report.html"


def _silent(_event: str, _facts: dict[str, Any]) -> None:
    """Progress for nobody."""


def report(spark: SparkSession, told: Sources, out: str, tell: Report = _silent) -> History:
    """Write the tables and ``report.html`` into the folder *out*; what the page says.

    *tell* hears of each table and of the page. Raises NotAnArchive; a malformed line stops the job.
    """
    started = time.monotonic()
    with watching(spark.sparkContext, tell):
        tables = build(spark, told, out, tell)
        history = collect(tables, told.archive)
    path = f"{out.rstrip('/')}/{PAGE}"
    _write(path, page(history).encode())
    seconds = round(time.monotonic() - started, 1)
    tell("report", {"path": path, "batches": history.known, "items": history.items, "seconds": seconds})
    return history


def _write(path: str, body: bytes) -> None:
    """Write a file into this machine's folder or into a bucket, wherever *path* leads."""
    system, inner = located(path)
    with system.open_output_stream(inner) as stream:
        stream.write(body)
