"""The process of the job: Spark starts while the stack is deployed, then the fan-out runs unchanged.

``python -m pipeline.demo.spark PARENT``. The demo writes one line to its standard input, the arguments of the
job as a JSON list, once they are known. The process and its children end when PARENT ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from fanin.local import parent_watch
from pipeline.jobs import fan_out
from pipeline.spark.session import spark_session

ONE_PART = {
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.maxPartitionBytes": "16g",
}
"""A file is read in one partition, so that its first N rows are its first N lines, as the check assumes."""


def main(parent: int) -> None:
    """Start Spark, wait for the arguments, and run the job in that session while *parent* runs."""
    # Before Spark starts, which takes seconds in which the demo may be interrupted.
    parent_watch.follow(parent, _end)
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
