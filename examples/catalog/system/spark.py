"""The process of the job: while the stack is deployed, Spark starts and writes the manifest of the fan-out.

``python -m examples.catalog.system.spark PARENT --dataset PATH --manifest PATH [--limit N]``. The demo writes
one line to its standard input, the arguments of the job as a JSON list, once they are known; the job then
finds the manifest that it would write. The process and its children end when PARENT ends.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import uuid
from collections.abc import Iterable, Sequence

from pyspark.sql import SparkSession

from fanin.local.emulator_process import parent_watch
from pipeline.fan_out.on_spark import SparkEngine
from pipeline.fan_out.publish import FanOutRequest
from pipeline.jobs import fan_out
from pipeline.shared_by_jobs.errors import exit_with_message
from pipeline.shared_by_jobs.session import started_session

ONE_PART = {
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.maxPartitionBytes": "16g",
}
"""A file is read in one partition, so that its first N rows are its first N lines, as the check assumes."""


def main(parent: int, given: Sequence[str]) -> None:
    """Start Spark, prepare the job, wait for its arguments, and run it while *parent* runs."""
    # Before Spark starts, which takes seconds in which the demo may be interrupted.
    parent_watch.follow(parent, _end)
    with exit_with_message("fan_out"):
        prepare(started_session("fan_out", "*", ONE_PART), request_of(given))
    print(json.dumps({"event": "ready"}), flush=True)
    arguments = sys.stdin.readline()
    if not arguments:
        return
    fan_out.main(json.loads(arguments))


def request_of(given: Sequence[str]) -> FanOutRequest:
    """Return the request of the job, as far as its manifest depends on it."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--dataset", "--manifest"):
        parser.add_argument(name, required=True)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args(given)
    return FanOutRequest(options.dataset, options.manifest, None, "demo", limit=options.limit)


def prepare(spark: SparkSession, request: FanOutRequest) -> None:
    """Write the manifest, count it, and start the Python processes that send."""
    SparkEngine(spark).number(request, run=str(uuid.uuid4()))
    slots = spark.sparkContext.defaultParallelism
    spark.sparkContext.parallelize(range(slots), slots).foreachPartition(_load)


def _load(_rows: Iterable[int]) -> None:
    """Import what the tasks that send import."""
    import pipeline.fan_out.send  # noqa: F401, PLC0415  # in the process of a task


def _end() -> None:
    os.killpg(0, signal.SIGTERM)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
