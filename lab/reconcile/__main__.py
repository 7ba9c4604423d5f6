"""Measures the reconcile job over one batch: ``python -m lab.reconcile --items N``.

All items of the batch are acked but *M*, which are outstanding in ten places, or scattered over the whole
batch. The job is run for each, as ``python -m pipeline.jobs.reconcile`` on two cores, from point-in-time
exports; what it saves must be exactly the outstanding items with their rows. The manifest has the layout that
fan_out writes, and 8 bytes a row.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from lab.pages.page import write
from lab.pipeline import measured_job
from lab.reconcile.inputs import (
    IN_PLACES,
    SCATTERED,
    check,
    outstanding_items,
    write_exports,
    write_manifest,
)
from lab.reconcile.report import Measured, keep_all
from pipeline.shared_by_jobs.session import spark_session

CORES = "2"


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    with TemporaryDirectory(dir=options.folder) as folder:
        started, source = perf_counter(), Path(folder, "manifest")
        with spark_session("benchmark", cores="1") as spark:
            write_manifest(spark, source, options.items)
        print(f"a manifest of {options.items:,} rows in {perf_counter() - started:.0f} s", flush=True)
        found = [measured(each, source, options.items, options.missing) for each in (IN_PLACES, SCATTERED)]
    if options.keep:
        keep_all(found, f"python -m lab.reconcile {' '.join(arguments or sys.argv[1:])}")
        write(["reconcile"])


def measured(spread: str, source: Path, items: int, missing: int) -> Measured:
    """Run the job once, and check what it saved."""
    root = source.with_name(spread.replace(" ", "-"))
    exported = write_exports(root, items, outstanding_items(spread, items, missing))
    places = ["--manifest", str(source), "--out", str(root / "saved"), "--cores", CORES]
    completed = measured_job.run("reconcile", [*exported.arguments, *places], {"SPARK_LOCAL_DIRS": str(root)})
    check(str(root / "saved"), exported)
    print(f"{missing:,} outstanding {spread}: {completed.summary(items)}", flush=True)
    return Measured(spread, items, missing, completed.seconds, completed.cpu, completed.peak)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--items", type=int, default=10_000_000, help="items of the batch (default 10000000)")
    add("--missing", type=int, default=1000, help="of which are outstanding (default 1000)")
    add("--folder", help="where the files are made (default: that of temporary files)")
    add("--keep", action="store_true", help="keep the result for docs/performance/reconcile.md")
    return parser


if __name__ == "__main__":
    main()
