"""The job's process: Spark is up before the deployment is, and then the fan-out runs as it always does.

``python -m pipeline.demo.spark``. Its standard input is the demo's voice: one line, the job's arguments as a
JSON list, once they are known; the end is the end of everything.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

from pipeline.jobs import fan_out
from pipeline.session import spark_session

ONE_PART = {
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.maxPartitionBytes": "16g",
}
"""A file is read in one piece, so that its first N rows are the first N lines, as the check counts them."""


def main() -> None:
    """Start Spark, wait for the arguments, run the job in that session."""
    spark_session("fan_out", settings=ONE_PART)
    print(json.dumps({"event": "ready"}), flush=True)
    arguments = sys.stdin.readline()
    if not arguments:
        return
    threading.Thread(target=_end_with_the_demo, daemon=True).start()
    fan_out.main(json.loads(arguments))


def _end_with_the_demo() -> None:
    # Not sys.stdin: a thread that waits in it would hold a lock that the end of this process needs.
    while os.read(0, 1024):
        pass
    os.killpg(0, signal.SIGTERM)


if __name__ == "__main__":
    main()
