"""A driver of fan_out as a process of its own, to be killed, or to work on a cluster that fails it.

    python -m tests.pipeline.driver JSON

The API is the production tracker over the emulator's tables; everything else is the job's.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyarrow import RecordBatch
from pyspark import TaskContext

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from pipeline.fan_out import publish
from pipeline.fan_out.publish import FanOutRequest
from pipeline.fan_out.send import Queue
from pipeline.snapshot.tables import Tables
from pipeline.spark.datasets import CATALOG
from pipeline.spark.session import spark_session
from tests.pipeline.conftest import restless

TENANT = "tenant"
ROWS = 3000
"""Rows of the catalog: three pages, for two tasks to send."""
PARTS = 4
STRAGGLE_SECONDS = 120.0


@dataclass(frozen=True)
class Options:
    """What the driver is to do. *settings* are Spark's; *trouble*: the parts of the dataset give trouble."""

    tables: list[str]
    queue: list[str]
    manifest: str
    settings: dict[str, str] = field(default_factory=dict)
    trouble: bool = False


def troubled(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    """The rows of a part turned about, with a failure in part 1; the first attempt of part 0 dawdles."""
    task = TaskContext.get()
    yield from restless(batches)
    if task.partitionId() == 0 and task.attemptNumber() == 0:
        time.sleep(STRAGGLE_SECONDS)


def main() -> None:
    options = Options(**json.loads(sys.argv[1]))
    read = publish._dataset
    if options.trouble:
        publish._dataset = lambda spark, request: _in_trouble(read(spark, request))
    tracker = Tracker(Tables(*options.tables).store)
    api = Fanin(DirectTransport(tracker, TENANT))
    request = FanOutRequest(str(CATALOG), options.manifest, Queue(*options.queue), "driver", limit=ROWS)
    settings = {"spark.python.daemon.module": "tests.pipeline.preloaded", **options.settings}
    with spark_session("driver", cores="2", settings=settings) as spark:
        publish.fan_out(spark, api, request, _tell, run="run")


def _in_trouble(dataset):
    return dataset.repartition(PARTS, "name").mapInArrow(troubled, dataset.schema)


def _tell(event, facts) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


if __name__ == "__main__":
    main()
