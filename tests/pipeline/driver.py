"""A driver of fan_out as a process of its own, to be killed.

    python -m tests.pipeline.driver JSON

The API is the production tracker over the emulator's tables; everything else is the job's.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from pipeline.fan_out import publish
from pipeline.fan_out.on_spark import SparkEngine
from pipeline.fan_out.publish import FanOutRequest
from pipeline.fan_out.send import Queue
from pipeline.shared_by_jobs.datasets import CATALOG
from pipeline.shared_by_jobs.session import spark_session
from pipeline.table_frames.tables import Tables

TENANT = "tenant"
ROWS = 3000
"""Rows of the catalog: three pages, for two tasks to send."""
SETTINGS = {"spark.python.daemon.module": "tests.pipeline.preloaded"}


@dataclass(frozen=True)
class Options:
    """What the driver works on."""

    tables: list[str]
    queue: list[str]
    manifest: str


def main() -> None:
    options = Options(**json.loads(sys.argv[1]))
    api = Fanin(DirectTransport(Tracker(Tables(*options.tables).store), TENANT))
    request = FanOutRequest(str(CATALOG), options.manifest, Queue(*options.queue), "driver", limit=ROWS)
    with spark_session("driver", cores="2", settings=SETTINGS) as spark:
        publish.fan_out(SparkEngine(spark), api, request, _report, run="run")


def _report(event, facts) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


if __name__ == "__main__":
    main()
