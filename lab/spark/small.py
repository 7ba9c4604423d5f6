"""Measures bulk_ack and fan_out of few rows beside DuckDB and Polars: ``python -m lab.spark.small``.

CPU is that of all processes from their start on, with their imports.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from lab.pages.results import Table, Target
from lab.pages.revision import ROOT
from lab.spark.__main__ import run
from lab.spark.child import FOLDS, NUMBERINGS
from lab.spark.inputs import write_dataset, write_logs
from lab.spark.report import NAMES, SMALL, keep_part
from lab.spark.shell import COLD
from pipeline import class_archive
from pipeline.engine_without_spark.engines import LOCAL, SPARK
from pipeline.shared_by_jobs import session

DRY = ("--dry-run",)
WAYS: dict[str, tuple[str, str, Sequence[str]]] = {
    "local, dry run": ("bulk_ack", LOCAL, DRY),
    "local": ("bulk_ack", LOCAL, ()),
    "Spark, dry run": ("bulk_ack", SPARK, DRY),
    "the same, no class archive": (COLD, SPARK, DRY),
    "fan_out --files, local": ("fan_out", LOCAL, ()),
    "fan_out --files, Spark": ("fan_out", SPARK, ()),
}
OTHERS = {way: NAMES[way] for way in FOLDS} | {way: f"{NAMES[way]}, messages" for way in NUMBERINGS}
TARGETS = [
    (1_000_000, "local, dry run", 2),
    (100_000, "Spark, dry run", 8),
    (100_000, "the same, no class archive", 12),
]
WHY = {
    LOCAL: "imports of Arrow and boto3 take half of it",
    SPARK: "the JVM, Spark and its first query; PySpark's workers import Arrow",
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add(
        "--rows",
        type=int,
        nargs="+",
        default=[100_000, 1_000_000, 10_000_000],
        help="acks in the logs, rows of the dataset",
    )
    add("--rounds", type=int, default=3, help="of all ways (default 3)")
    add("--keep", action="store_true", help="keep the result for docs/performance/spark.md")
    options = parser.parse_args(arguments)
    wanted = sorted({rows for rows, _, _ in TARGETS})
    if options.keep and not {*wanted} <= {*options.rows}:
        parser.error(f"--keep takes sizes of {wanted} in --rows")
    if not session.CLASS_ARCHIVE.is_file():
        class_archive.write_archive(session.CLASS_ARCHIVE)
    with TemporaryDirectory() as folder:
        found = {rows: _measured(Path(folder) / str(rows), rows, options.rounds) for rows in options.rows}
    if options.keep:
        _keep(found, f"python -m lab.spark.small {' '.join(arguments or sys.argv[1:])}")


def _measured(folder: Path, rows: int, rounds: int) -> dict[str, float]:
    """Return the median of the CPU seconds of each way."""
    write_logs(folder / "logs", rows)
    write_dataset(folder / "data.parquet", rows)
    found: dict[str, list[float]] = {}
    for way, (job, engine, own) in [each for _ in range(rounds) for each in WAYS.items()]:
        for name in ("manifest", "messages"):
            shutil.rmtree(folder / name, ignore_errors=True)
        started = time.perf_counter()
        found.setdefault(way, []).append(_run(job, folder, engine, own))
        seconds = time.perf_counter() - started
        print(f"{rows:>11,} rows, {way:<23} {found[way][-1]:6.2f} CPU s in {seconds:6.2f} s", flush=True)
    for way, name in [each for _ in range(rounds) for each in OTHERS.items()]:
        found.setdefault(name, []).append(_by_other(way, folder))
    return {way: median(seconds) for way, seconds in found.items()}


def _by_other(way: str, folder: Path) -> float:
    """Return the CPU seconds of another engine."""
    runs: Any = run(way, folder, runs=1)["runs"]
    return float(runs[0]["cpu"])


def _run(job: str, folder: Path, engine: str, own: Sequence[str]) -> float:
    shell = [sys.executable, "-m", "lab.spark.shell", job, str(folder)]
    command = [*shell, "--engine", engine, "--cores", "2", *own]
    completed = subprocess.run(  # noqa: S603 - our own
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, start_new_session=True
    )
    return float(completed.stdout.splitlines()[-1])


def _keep(found: dict[int, dict[str, float]], command: str) -> None:
    names = [*WAYS, *OTHERS.values()]
    cells = [(name, *(f"{ways[name]:.1f}" for ways in found.values())) for name in names]
    table = Table(("CPU s of", *(f"{rows:,} rows" for rows in found)), cells)
    targets = [_target(rows, way, most, found[rows][way]) for rows, way, most in TARGETS]
    keep_part(SMALL, command, table, targets)


def _target(rows: int, way: str, most: int, seconds: float) -> Target:
    subject = f"{SMALL.targets} bulk_ack of {rows:,} string ids, {way}, CPU seconds"
    return Target(subject, f"at most {most}", f"{seconds:.1f}", seconds <= most, WHY[WAYS[way][1]])


if __name__ == "__main__":
    main()
