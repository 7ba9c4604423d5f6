"""Measures bulk_ack by the form of the rows of its logs, on one core: ``python -m lab.spark.forms``.

Texts, integers and ranges of 64 items, by processes of this machine, beside DuckDB on the same files; texts
also without the compiled kernel, and by Polars with NumPy. What came out is compared. CPU is the least of
several runs in a process, without the first: what else the machine does makes each longer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.pages.results import Table, Target
from lab.spark.__main__ import run
from lab.spark.child import HERE
from lab.spark.inputs import RANGE, write_logs
from lab.spark.report import FORMS, keep_part


@dataclass(frozen=True, slots=True)
class Case:
    """Rows of a *form*, of a group that begins *before* items after its batch; *ways* that fold them."""

    name: str
    form: str
    ways: Sequence[str]
    before: int = 0
    wanted: float = 0


CASES = [
    Case("item_id", "texts", ("local", "local-numpy", "duckdb", "polars-numpy")),
    Case("index", "integers", ("local", "duckdb"), wanted=50),
    Case("first, last: 64 items", "ranges", ("local",), wanted=500),
    Case("the same, each in two longs of 64 bits", "ranges", ("local",), before=1),
]
WHY = "a fifth to a third of the CPU reads Parquet, as much sets bits, more than the core's own caches hold"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--rows", type=int, default=10_000_000, help="of each log (default 10000000)")
    add("--runs", type=int, default=10, help="in a process (default 10)")
    add("--local-only", action="store_true", help="without DuckDB and Polars")
    add("--keep", action="store_true", help="keep the result for docs/performance/spark.md")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        found = [_measured(case, Path(folder), options) for case in CASES]
    if options.keep:
        _keep(found, f"python -m lab.spark.forms {' '.join(arguments or sys.argv[1:])}")


def _measured(case: Case, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Return the million items a CPU second of each way."""
    place = folder / f"{case.form}-{case.before}"
    write_logs(place / "logs", options.rows, case.form, case.before)
    items = options.rows * (RANGE if case.form == "ranges" else 1)
    rates, digests = {}, set()
    for way in [way for way in case.ways if way in HERE or not options.local_only]:
        answer = run(way, place, runs=options.runs + 1)
        digests.add(answer["digest"])
        rates[way] = items / min(each["cpu"] for each in answer["runs"][1:]) / 1e6  # type: ignore[index]
        print(f"{case.name:40} {way:12} {rates[way]:8,.1f} M items a CPU second", flush=True)
    assert len(digests) == 1, f"{case.name}: the ways have made different bits: {digests}"
    return rates


def _keep(found: Sequence[dict[str, float]], command: str) -> None:
    cells = [
        (case.name, *(f"{rates[way]:,.0f}" if way in rates else "" for way in ("local", "duckdb")))
        for case, rates in zip(CASES, found, strict=True)
    ]
    targets = [_target(case, rates["local"]) for case, rates in zip(CASES, found, strict=True) if case.wanted]
    keep_part(FORMS, command, Table(("columns", "bulk_ack --dry-run, local", "DuckDB"), cells), targets)


def _target(case: Case, rate: float) -> Target:
    what = f"{FORMS.targets} {case.name}, items a second and core"
    return Target(what, f"at least {case.wanted:.0f} M", f"{rate:.0f} M", rate >= case.wanted, WHY)


if __name__ == "__main__":
    main()
