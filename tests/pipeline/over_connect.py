"""A client of a Spark Connect server, as a process of its own: it may have no other Spark session.

    python -m tests.pipeline.over_connect JSON

A line of its input is a call, as JSON: the name of a job with its arguments, or of a function below. A line
of its output is the answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from pipeline import entry
from pipeline.datasource import FaninSource
from pipeline.jobs import fan_out
from pipeline.shared_by_jobs import session
from pipeline.table_frames import frames
from pipeline.table_frames.tables import Tables

TENANT, PAGE_BITS = "tenant", 8


@dataclass(frozen=True)
class Options:
    """What the client works on: the code for the server, and the tracker's tables."""

    code: str
    tables: list[str]


def main() -> None:
    options, answers = Options(**json.loads(sys.argv[1])), sys.stdout
    tracker = Tracker(Tables(*options.tables).store, page_bits=PAGE_BITS)
    fan_out.Fanin = lambda *_, **__: Fanin(DirectTransport(tracker, TENANT))
    session.ARCHIVE, frames.SEGMENTS_A_SLOT = Path(options.code), 1
    with redirect_stdout(sys.stderr), session.spark_session("tests") as spark:
        spark.dataSource.register(FaninSource)
        session.spark_session = lambda *_, **__: nullcontext(spark)
        for line in sys.stdin:
            name, arguments = json.loads(line)
            answer = CALLS[name](spark, *arguments) if name in CALLS else status(spark, name, arguments)
            print(json.dumps(answer), file=answers, flush=True)


def status(spark: SparkSession, name: str, arguments: list[str]) -> int | str | None:
    """The exit status of a job, None if it ran to its end."""
    job = entry.job(name)
    job.spark_session = session.spark_session
    try:
        job.main(arguments)
    except SystemExit as end:
        return end.code
    return None


def read(spark: SparkSession, options: dict[str, str], condition: str) -> list[str]:
    """The ids of the items that the data source gives under *condition*."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    rows = spark.read.format("fanin").options(**options).load().where(condition)
    return sorted(row.item_id for row in rows.select("item_id").collect())


def write(spark: SparkSession, options: dict[str, str], ids: list[str]) -> None:
    """Ack items by the data source."""
    frame = spark.createDataFrame([(one,) for one in ids], "item_id string")
    frame.write.format("fanin").options(**options).mode("append").save()


def sent(spark: SparkSession) -> int:
    """What a task finds in the archive of code that the session sent."""

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sent_to_the_server

        yield from (pa.RecordBatch.from_pydict({"id": [sent_to_the_server.KNOWN]}) for _ in batches)

    return spark.range(0, 1, 1, 1).mapInArrow(look, "id long").first().id


CALLS = {"read": read, "write": write, "sent": sent}

if __name__ == "__main__":
    main()
