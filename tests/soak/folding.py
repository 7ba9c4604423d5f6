"""A small Spark job beside the load: acks of one batch as a log, folded by bulk_ack on one core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fanin.local import LocalRun
from tests.soak.tracking import Tracking

ITEMS = 3000
MEMORY_MB = 3000
"""Free memory without which the job is left out."""
SECONDS = 300


def free_mb() -> int:
    """Return the memory that is available, in MB."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable"))


def fold(run: LocalRun, tracking: Tracking, folder: Path) -> str:
    """Ack a batch by Spark; return what happened. Raises CalledProcessError."""
    if free_mb() < MEMORY_MB:
        return f"left out: {free_mb()} MB free"
    batch = tracking.open("folded")
    items = tracking.filled(batch, ITEMS)
    tracking.close(batch)
    log = folder / f"{batch}.jsonl"
    log.write_text("".join(json.dumps({"item_id": item}) + "\n" for item in items + items[:100]))
    command = [sys.executable, "-m", "pipeline.jobs.bulk_ack", str(log), "--tenant", "000000000000"]
    command += ["--batches-table", run.outputs["BatchesTable"], "--pages-table", run.outputs["PagesTable"]]
    command += ["--rejects", str(folder / f"{batch}-rejects")]
    env = {**os.environ, **run.environment, "PYTHONPATH": "shared:.", "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(  # our own module
        ["nice", "-n", "19", *command], env=env, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        raise RuntimeError(f"bulk_ack ended with {done.returncode}: {done.stderr[-300:]}")
    return "folded"
