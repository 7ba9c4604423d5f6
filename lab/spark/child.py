"""One way in a process and a session of its own: ``python -m lab.spark.child WAY FOLDER CORES [RUNS]``.

It prints what each run took, of two or so many, and a digest of what came out, as JSON. A session of Spark is
warm in the second run.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.compute as pc
import pyarrow.parquet as pq

from lab.spark import engines, jobs
from lab.spark.inputs import Logs, read_logs
from lab.spark.usage import cpu_seconds, peak_megabytes
from pipeline.compiled_fold import groups

FOLDS = {
    "duckdb": engines.duckdb_fold,
    "polars": engines.polars_fold,
    "polars-numpy": engines.polars_numpy_fold,
}
HERE = {"local": jobs.fold_here, "local-numpy": jobs.fold_here, "local-acks": jobs.ack_here}
ALONE = ("alone", "alone-numpy")
IN_MEMORY = {f"{way}-alone": fold for way, fold in FOLDS.items()}
"""The folds over rows that are in memory, as the jobs' fold alone has them."""
NUMBERINGS = {"duckdb-files": engines.duckdb_number, "polars-files": engines.polars_number}
JOBS = {"spark": jobs.fold, "spark-numpy": jobs.fold, "spark-acks": jobs.ack}
RUNS = 2
COMPARED = 100_000_000
"""Rows of logs up to which what the ways have made is compared; more are folded by the jobs alone."""
HEAD = "00000000-0000-4000-8000-000000000001:00000000-0000-8000-8000-000000000001:"


def main() -> None:
    way, folder, cores = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if way in ("local-numpy", "alone-numpy"):
        patch.object(groups, "kernel", return_value=None).start()
    if way in FOLDS:
        found = _runs(lambda: FOLDS[way](read_logs(folder / "logs")))
        digest = jobs.digest(FOLDS[way](read_logs(folder / "logs")))
    elif way in ALONE:
        found = _runs(jobs.fold_alone(read_logs(folder / "logs")))
        digest = jobs.digest(jobs.longs_alone(read_logs(folder / "logs")))
    elif way in IN_MEMORY:
        found, digest = _in_memory(way, read_logs(folder / "logs"))
    elif way in HERE:
        found = _runs(lambda: HERE[way](read_logs(folder / "logs")))
        digest = jobs.digest(jobs.longs_here(read_logs(folder / "logs")))
    elif way in NUMBERINGS:
        found = _runs(lambda: NUMBERINGS[way](folder / "data.parquet", folder / f"{way}.parquet", HEAD))
        digest = numbered(folder / f"{way}.parquet")
    else:
        found, digest = _spark(way, folder, cores)
    print(json.dumps({"runs": found, "megabytes": peak_megabytes(), "digest": digest}))


def _in_memory(way: str, logs: Logs) -> tuple[list[dict[str, float]], str]:
    rows = engines.in_memory(way, logs)
    return _runs(lambda: IN_MEMORY[way](logs, rows)), jobs.digest(IN_MEMORY[way](logs, rows))


def _spark(way: str, folder: Path, cores: int) -> tuple[list[dict[str, float]], str]:
    with jobs.session(cores) as spark:
        if way == "spark-files":
            out = folder / "spark-files.parquet"
            found = _runs(lambda: jobs.number(spark, folder / "data.parquet", out))
            return found, numbered(out)
        logs, job = read_logs(folder / "logs"), JOBS[way]
        found = _runs(lambda: job(spark, logs))
        return found, jobs.digest(jobs.longs(spark, logs)) if logs.rows <= COMPARED else ""


def _runs(work: Callable[[], Any]) -> list[dict[str, float]]:
    """Return what each run took; the first with all that this process did before."""
    found = []
    for turn in range(int(sys.argv[4]) if len(sys.argv) > 4 else RUNS):
        used, started = cpu_seconds() if turn else 0.0, time.perf_counter()
        work()
        found.append({"cpu": cpu_seconds() - used, "seconds": time.perf_counter() - started})
    return found


def numbered(path: Path) -> str:
    """Return what equal numberings share: the messages in the order of their positions."""
    rows = pq.read_table(path, columns=["position", "record"]).sort_by("position")
    assert (
        rows["position"].to_numpy()[-1]
        == rows.num_rows - 1
        == pc.count_distinct(rows["position"]).as_py() - 1
    )
    digest = hashlib.sha256()
    for part in rows["record"].chunks:
        for text in part.to_pylist():
            digest.update(text.encode())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
