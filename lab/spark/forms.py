"""Measures bulk_ack by the form of the rows of its logs, on one core: ``python -m lab.spark.forms``.

Texts, integers and ranges of 64 items, by processes of this machine, beside DuckDB and Polars on the same
files; texts also without the compiled kernel. Texts of several batches that take turns are folded alone, from
rows in memory. What came out is compared. CPU is the least of several runs in a process, without
the first: what else the machine does makes each longer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.pages.results import Table, Target
from lab.spark import child
from lab.spark.__main__ import run
from lab.spark.inputs import RANGE, write_logs
from lab.spark.report import BATCHES, FORMS, NAMES, Part, keep_part


@dataclass(frozen=True, slots=True)
class Case:
    """Rows of a *form*, of a group that begins *before* items after its batch; *ways* that fold them."""

    name: str
    form: str
    ways: Sequence[str]
    before: int = 0
    batches: int = 1
    least: float = 0


CASES = [
    Case("item_id", "texts", ("local", "local-numpy", "duckdb", "polars", "polars-numpy")),
    Case("index", "integers", ("local", "duckdb", "polars", "polars-numpy"), least=50),
    Case("first, last: 64 items", "ranges", ("local", *child.FOLDS), least=500),
    Case("the same, each in two longs of 64 bits", "ranges", ("local", *child.FOLDS), before=1),
]
ALONE = [
    Case("one batch", "texts", (*child.ALONE, *child.IN_MEMORY)),
    Case("8 batches", "texts", (*child.ALONE, *child.IN_MEMORY), batches=8, least=20),
    Case("1,000 batches", "texts", (*child.ALONE, *child.IN_MEMORY), batches=1000, least=5),
]
WHY = "a third of the CPU decompresses pages, a fifth sets bits; larger pages would take fewer calls"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--rows", type=int, default=10_000_000, help="of each log (default 10000000)")
    add("--runs", type=int, default=10, help="in a process (default 10)")
    add("--local-only", action="store_true", help="without DuckDB and Polars")
    add("--keep", action="store_true", help="keep the result for docs/performance/spark.md")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        found, alone = ([_measured(each, Path(folder), options) for each in some] for some in (CASES, ALONE))
    if options.keep:
        _keep(found, alone, f"python -m lab.spark.forms {' '.join(arguments or sys.argv[1:])}")


def _measured(case: Case, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Return the million items a CPU second of each way."""
    place = folder / f"{case.ways[0]}-{case.form}-{case.before}-{case.batches}"
    write_logs(place / "logs", options.rows, case.form, case.before, case.batches)
    items = options.rows * (RANGE if case.form == "ranges" else 1)
    rates, digests = {}, set()
    others = {*child.FOLDS, *child.IN_MEMORY} if options.local_only else set()
    for way in [way for way in case.ways if way not in others]:
        answer = run(way, place, runs=options.runs + 1)
        digests.add(answer["digest"])
        rates[way] = items / min(each["cpu"] for each in answer["runs"][1:]) / 1e6  # type: ignore[index]
        print(f"{case.name:40} {way:12} {rates[way]:8,.1f} M items a CPU second", flush=True)
    assert len(digests) == 1, f"{case.name}: the ways have made different bits: {digests}"
    return rates


def _keep(found: Sequence[dict[str, float]], alone: Sequence[dict[str, float]], command: str) -> None:
    others = {way: NAMES[way] for way in child.FOLDS}
    columns = {"local": "bulk_ack --dry-run, local", "local-numpy": "without the kernel", **others}
    forms = list(zip(CASES, found, strict=True))
    targets = [_target(FORMS, case, rates["local"]) for case, rates in forms if case.least]
    keep_part(FORMS, command, _table("columns", columns, forms), targets)
    columns = {"alone": "the fold, by the kernel", "alone-numpy": "by NumPy"}
    columns |= {f"{way}-alone": name for way, name in others.items()}
    batches = list(zip(ALONE, alone, strict=True))
    targets = [_target(BATCHES, case, rates["alone"]) for case, rates in batches if case.least]
    keep_part(BATCHES, command, _table("texts of", columns, batches), targets)


def _table(
    first: str, columns: Mapping[str, str], found: Sequence[tuple[Case, Mapping[str, float]]]
) -> Table:
    cells = [
        (case.name, *(f"{rates[way]:,.0f}" if way in rates else "" for way in columns))
        for case, rates in found
    ]
    return Table((first, *columns.values()), cells)


def _target(part: Part, case: Case, rate: float) -> Target:
    subject = f"{part.targets} {case.name}, items a second and core"
    return Target(subject, f"at least {case.least:.0f} M", f"{rate:.0f} M", rate >= case.least, WHY)


if __name__ == "__main__":
    main()
