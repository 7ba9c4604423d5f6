"""The job's process: Spark is up before the deployment is, and then the fan-out runs as it always does.

``python -m pipeline.demo.spark PARENT``. Its standard input is the demo's voice: one line, the arguments of
the job as a JSON list, once they are known. It ends, with all that it started, when PARENT is gone.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from fanin.local import guard
from pipeline.jobs import fan_out
from pipeline.spark.session import spark_session

ONE_PART = {
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.maxPartitionBytes": "16g",
}
"""A file is read in one piece, so that its first N rows are the first N lines, as the check counts them."""


def main(parent: int) -> None:
    """Start Spark, wait for the arguments, run the job in that session, for as long as *parent* is there."""
    # Before Spark is started: that takes a while, in which the demo may be interrupted.
    guard.follow(parent, _end)
    spark_session("fan_out", settings=ONE_PART)
    print(json.dumps({"event": "ready"}), flush=True)
    arguments = sys.stdin.readline()
    if not arguments:
        return
    fan_out.main(json.loads(arguments))


def _end() -> None:
    os.killpg(0, signal.SIGTERM)


if __name__ == "__main__":
    main(int(sys.argv[1]))
