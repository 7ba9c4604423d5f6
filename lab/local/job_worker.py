"""A worker process of ``lab.local.jobs``: takes jobs, and writes each outcome in the ack's transaction.

It writes its events as lines of JSON to standard output, each with the time of the monotonic clock, which all
processes of a machine share.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from fanin import Fanin, Job, Jobs, LostClaim, Options

JOBS_A_TAKE = 5
WORK_SECONDS = 0.02


def log(event: str, job: Job) -> None:
    line = {"at": time.monotonic(), "event": event, "key": job.key, "id": job.job_id, "claim": job.claim}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def outcome(table: str, key: str, job_id: str, worker: str) -> dict[str, Any]:
    """Return a write that counts how often it is applied."""
    return {
        "Update": {
            "TableName": table,
            "Key": {"key": {"S": key}, "job": {"S": job_id}},
            "UpdateExpression": "ADD times :one, workers :me",
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":me": {"SS": [worker]}},
        }
    }


def work(jobs: Jobs, table: str) -> None:
    for job in jobs:
        log("took", job)
    for job in jobs:
        time.sleep(random.uniform(0, WORK_SECONDS))
        try:
            jobs.ack(job, writes=[outcome(table, job.key, job.job_id, str(os.getpid()))])
        except LostClaim:
            log("lost", job)
        else:
            log("acked", job)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    for name in ("url", "queue", "outcomes"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--expiry", type=float, required=True)
    parser.add_argument("--renew", action="store_true")
    given = parser.parse_args(arguments)
    # A service manager ends a process so: an interruption, which returns the claimed jobs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    options = Options(expiry=given.expiry, renew=given.renew)
    with Fanin(given.url).queue(given.queue, options=options) as queue:
        while True:
            with queue.take(JOBS_A_TAKE) as jobs:
                work(jobs, given.outcomes)


if __name__ == "__main__":
    main()
