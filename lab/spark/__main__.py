"""Measures the Spark jobs beside DuckDB and Polars: ``python -m lab.spark``.

Every way folds the same ack logs to the same bitmap, and saves the same dataset as the same numbered
messages; what came out is compared. All have one core, take turns within each round, and run in a process of
their own. Before the rounds, fan_out saves the dataset on two cores; after them, the dry run alone folds logs
of *--alone* rows.
DuckDB and Polars are in no dependencies: install both before, as the error says. CPU is that of all processes
of a way, since Spark has a JVM and workers, and it depends less than time on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree, ignore_patterns
from statistics import median
from tempfile import TemporaryDirectory

from lab.pages.revision import ROOT
from lab.spark.child import FOLDS, NUMBERINGS
from lab.spark.inputs import write_dataset, write_logs
from lab.spark.report import Found, Measured, keep_all

JOBS = ("spark", "spark-numpy", "spark-acks")
ALONE = "spark"
FAN_OUT = "spark-files"
FILES = (FAN_OUT, *NUMBERINGS)
WANTED = ("duckdb", "polars")
PARTS = (["lab.spark.forms", "--runs", "5"], ["lab.spark.small", "--rounds", "1"], ["lab.pipeline.pages"])
"""What else the page shows: each measures in processes of its own."""
LIMITS = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: *rows* of logs, *items* of a dataset, *rounds* of all ways; *alone*: rows of logs for
    the dry run alone, once.
    """

    rows: Sequence[int]
    items: int
    rounds: int
    jobs_only: bool = False
    alone: int = 0

    def turns(self) -> Iterator[tuple[str, int]]:
        """Yield each way of a round with its size."""
        for size in self.rows:
            yield from ((way, size) for way in (*JOBS, *(() if self.jobs_only else FOLDS)))
        yield from ((way, self.items) for way in FILES if self.items)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    is_whole = options.items and options.alone and len(options.rows) > 1 and not options.jobs_only
    if options.keep and not is_whole:
        parser.error("--keep takes two sizes of --rows, a dataset of --items, --alone, and all ways")
    missing = [] if options.jobs_only else [name for name in WANTED if find_spec(name) is None]
    if missing:
        raise SystemExit(f"lab.spark needs {' and '.join(missing)}: pip install {' '.join(missing)}")
    plan = Plan(sorted(options.rows), options.items, options.rounds, options.jobs_only, options.alone)
    with TemporaryDirectory(dir=options.folder) as folder:
        found = measured(plan, Path(folder))
    if options.keep:
        keep_all(found, f"python -m lab.spark {' '.join(arguments or sys.argv[1:])}", plan.rounds)
        for part in PARTS:
            subprocess.run([sys.executable, "-m", *part, "--keep"], cwd=ROOT, check=True)  # noqa: S603 - our own


def measured(plan: Plan, folder: Path) -> Found:
    """Return the medians of all ways; assert that those of one size have made the same."""
    on_two = None
    if plan.items:
        (folder / str(plan.items)).mkdir(exist_ok=True)
        write_dataset(folder / str(plan.items) / "data.parquet", plan.items)
        on_two = _once(FAN_OUT, plan.items, folder, cores=2)
    for size in plan.rows:
        write_logs(folder / str(size) / "logs", size)
    every = _rounds(plan, folder)
    if plan.alone:
        write_logs(folder / str(plan.alone) / "logs", plan.alone)
    return Found(every, [_once(ALONE, plan.alone, folder)] if plan.alone else [], on_two)


def _rounds(plan: Plan, folder: Path) -> list[Measured]:
    answers: dict[tuple[str, int], list[Mapping[str, object]]] = {}
    for turn in range(plan.rounds):
        for way, size in plan.turns():
            answers.setdefault((way, size), []).append(run(way, folder / str(size)))
            print(f"round {turn + 1}: {_medians(way, size, answers[way, size])}", flush=True)
    _compare(answers)
    return [_medians(way, size, found) for (way, size), found in answers.items()]


def _once(way: str, size: int, folder: Path, cores: int = 1) -> Measured:
    found = _medians(way, size, [run(way, folder / str(size), cores)])
    print(f"on {cores}: {found}", flush=True)
    return found


def run(way: str, folder: Path, cores: int = 1, runs: int = 2) -> Mapping[str, object]:
    """Run one way so often in a session of its own, and return what it printed."""
    root = _without_kernel(folder) if way == "spark-numpy" else ROOT
    places = root, root / "shared"
    completed = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-m", "lab.spark.child", way, str(folder), str(cores), str(runs)],
        cwd=root,
        env={**os.environ, **LIMITS, "PYTHONPATH": os.pathsep.join([*map(str, places), *sys.path])},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        start_new_session=True,
    )
    answer: Mapping[str, object] = json.loads(completed.stdout.splitlines()[-1])
    return answer


def _without_kernel(folder: Path) -> Path:
    """Return a copy of the code that has no compiled library, for a job and its workers."""
    root = folder / "without_kernel"
    for package in ("lab", "pipeline", "shared"):
        copytree(ROOT / package, root / package, ignore=ignore_patterns("*.so"), dirs_exist_ok=True)
    return root


def _medians(way: str, size: int, answers: Sequence[Mapping[str, object]]) -> Measured:
    runs = [answer["runs"] for answer in answers]
    first, again = (median(each[turn]["cpu"] for each in runs) for turn in (0, 1))  # type: ignore[index]
    seconds = median(each[1]["seconds"] for each in runs)  # type: ignore[index]
    memory = max(float(str(answer["megabytes"])) for answer in answers)
    return Measured(way, size, first, again, seconds, memory)


def _compare(answers: Mapping[tuple[str, int], Sequence[Mapping[str, object]]]) -> None:
    """Assert that all ways of one kind and size have made the same."""
    results: dict[tuple[bool, int], set[object]] = {}
    for (way, size), found in answers.items():
        results.setdefault((way in FILES, size), set()).update(answer["digest"] for answer in found)
    for each, digests in results.items():
        assert len(digests) == 1, f"{each}: the ways have made different bits: {digests}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--rows", type=int, nargs="+", default=[10_000_000, 20_000_000, 40_000_000], help="acks in the logs")
    add("--items", type=int, default=2_000_000, help="rows of the dataset, 0 for none (default 2000000)")
    add("--rounds", type=int, default=3, help="of all ways (default 3)")
    add("--jobs-only", action="store_true", help="the logs by the jobs alone")
    add("--alone", type=int, default=0, metavar="ROWS", help="also so large logs, once, by the dry run alone")
    add("--folder", help="where the files are made, 5 bytes a row (default: that of temporary files)")
    add("--keep", action="store_true", help="measure the parts, too, and write docs/performance/spark.md")
    return parser


if __name__ == "__main__":
    main()
