"""Builds the history in one call: the tables, then the page."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import SparkSession

from pipeline.history.building import Sources, build
from pipeline.history.collecting import collect
from pipeline.history.facts import History
from pipeline.history.page.document import page
from pipeline.spark.files import located
from pipeline.spark.progress import Report, watching

PAGE = "report.html"


def _no_report(_event: str, _facts: dict[str, Any]) -> None:
    """Ignore progress."""


def report(spark: SparkSession, sources: Sources, out: str, emit: Report = _no_report) -> History:
    """Write the tables and ``report.html`` into the folder *out*; return the facts of the page.

    *emit* receives an event for each table and for the page. Raises NotAnArchive; a malformed line stops the
    job.
    """
    started = time.monotonic()
    with watching(spark.sparkContext, emit):
        tables = build(spark, sources, out, emit)
        history = collect(tables, sources.archive)
    path = f"{out.rstrip('/')}/{PAGE}"
    _write(path, page(history).encode())
    seconds = round(time.monotonic() - started, 1)
    emit("report", {"path": path, "batches": history.known, "items": history.items, "seconds": seconds})
    return history


def _write(path: str, body: bytes) -> None:
    """Write a file to *path*, on this machine or in a bucket."""
    system, inner = located(path)
    with system.open_output_stream(inner) as stream:
        stream.write(body)
