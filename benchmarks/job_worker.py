"""A worker process of ``benchmarks.jobs``: takes jobs, and writes each outcome in the ack's transaction.

What it does it tells in lines of JSON on its standard output, each with the monotonic clock's time, which is
one clock for all processes of a machine.
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


def tell(event: str, job: Job) -> None:
    line = {"at": time.monotonic(), "event": event, "key": job.name, "id": job.id, "claim": job.claim}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def outcome(table: str, key: str, job_id: str, worker: str) -> dict[str, Any]:
    """A write of the user's that counts how often it happens."""
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
        tell("took", job)
    for job in jobs:
        time.sleep(random.uniform(0, WORK_SECONDS))
        try:
            jobs.ack(job, writes=[outcome(table, job.name, job.id, str(os.getpid()))])
        except LostClaim:
            tell("lost", job)
        else:
            tell("acked", job)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    for name in ("url", "queue", "outcomes"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--expiry", type=float, required=True)
    given = parser.parse_args(arguments)
    # As a service manager ends a process: an interruption, which returns what is claimed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Fanin(given.url).queue(given.queue, options=Options(expiry=given.expiry)) as queue:
        while True:
            with queue.take(JOBS_A_TAKE) as jobs:
                work(jobs, given.outcomes)


if __name__ == "__main__":
    main()
