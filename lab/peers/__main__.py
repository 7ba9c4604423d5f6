"""Measures other trackers beside fanin: ``make peers``; a run that was stopped goes on.

``python -m lab.pages.page peers peers_results`` writes the pages in docs/performance from the results.
``--sizes --runs 0 --killed 0`` measures only runs whose items return results.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.peers.driving import Case
from lab.peers.installing import BUILD, bullmq_folder, celery_python, missing
from lab.peers.peers import PEERS, measure
from lab.peers.report import keep_found
from lab.peers.report_results import keep_results

SIZES = (1_000, 20_000, 100_000)
RUNS, KILLED_RUNS, FEW = 20, 5, 200
WORK_SECONDS = 0.005
RESULT_SIZES, RESULT_BYTES = (1_000, 10_000, 100_000), 200
SINGLY_MOST = 10_000
"""Items of a run with results that are acked one by one: more take half an hour, and the rate is no other."""
READING = 3
"""Times the patience of other runs: the end reads results without a line of the log."""
WITH_RESULTS = ("celery", "bullmq", "fanin", "tens")
NEAR_THE_END = 5
SLOWEST = 25
"""Items a second below which a run is ended."""


def main() -> int:
    """Measure, print, and keep the result; return 1 if a program is missing."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # servers and workers end with their blocks
    lacking = missing()
    if lacking:
        print(lacking, file=sys.stderr)
        return 1
    celery_python()
    bullmq_folder()
    folder = BUILD / "results"
    if options.again:
        for path in folder.glob("*.json"):
            path.unlink()
    found = _all(folder, options.only or PEERS, plans(options.sizes, options.runs, options.killed))
    if not options.only and (options.keep or _is_default(options)):
        keep_found(found, "" if _is_default(options) else _arguments(options))
    chosen = [name for name in WITH_RESULTS if name in (options.only or WITH_RESULTS)]
    given = [
        each for name in chosen for each in _all(folder, [name], result_plans(sizes(name, options.results)))
    ]
    if given and not options.only:
        keep_results(given)
    return 0


def plans(sizes: Sequence[int], runs: int, killed: int) -> dict[str, list[Case]]:
    """Return the cases of a tracker, by the name of their file."""
    few = Case(FEW, work=WORK_SECONDS, patience=20.0, limit=90.0, redelivery=5.0)
    return {
        **{str(size): [large(size)] for size in sizes},
        f"{runs}-runs": [replace(few, seed=seed, settle=1.0) for seed in range(runs)],
        f"{killed}-killed": [
            replace(few, seed=seed, settle=9.0, kill_at=FEW - NEAR_THE_END) for seed in range(killed)
        ],
    }


def sizes(name: str, asked: Sequence[int]) -> list[int]:
    """Return the numbers of items with which *name* is run."""
    return [size for size in asked if name != "fanin" or size <= SINGLY_MOST]


def result_plans(sizes: Sequence[int]) -> dict[str, list[Case]]:
    """Return the cases of a tracker whose items return results, by the name of their file."""
    return {
        f"{label}-results": [
            replace(case, results=RESULT_BYTES, patience=READING * case.patience) for case in cases
        ]
        for label, cases in plans(sizes, 0, KILLED_RUNS).items()
        if cases and sizes
    }


def large(items: int) -> Case:
    """Return the case of *items*, in whose middle a worker is killed."""
    limit = 120.0 + items / SLOWEST
    return Case(items, kill_at=items // 2, patience=60.0, limit=limit, redelivery=30.0)


def _all(folder: Path, names: Iterable[str], cases_of: Mapping[str, Sequence[Case]]) -> list[dict[str, Any]]:
    """Return what was found in the cases of each of the trackers."""
    return [
        each
        for name in names
        for label, cases in cases_of.items()
        for each in _measured(folder / f"{name}-{label}.json", name, cases)
    ]


def _measured(path: Path, name: str, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Return what was found in *cases*, by an earlier run or by this one."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(list(measure(PEERS[name], cases)), indent=1))
    found: list[dict[str, Any]] = json.loads(path.read_text())
    for each in found:
        print(f"{name:8} {_sentence(each)}", flush=True)
    return found


def _sentence(found: dict[str, Any]) -> str:
    killed = "and a killed worker" if found["killed"] else ""
    rate = f"{found['rate']:7,.0f} items/s"
    return f"{found['items']:7,} items with duplicates {killed:20} {rate}: {found['verdict']}"


def _is_default(options: argparse.Namespace) -> bool:
    return (options.sizes, options.runs, options.killed) == ([*SIZES], RUNS, KILLED_RUNS)


def _arguments(options: argparse.Namespace) -> str:
    sizes = " ".join(map(str, options.sizes))
    return f"--sizes {sizes} --runs {options.runs} --killed {options.killed} --keep"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[*SIZES], help="items of the large runs")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of {FEW} items, with duplicates")
    parser.add_argument("--killed", type=int, default=KILLED_RUNS, help="the same with a killed worker")
    parser.add_argument(
        "--results", type=int, nargs="*", default=[*RESULT_SIZES], help="items that return results"
    )
    parser.add_argument("--only", nargs="*", choices=PEERS, help="names of trackers (default: all)")
    parser.add_argument("--keep", action="store_true", help="keep the result of other sizes, too")
    parser.add_argument("--again", action="store_true", help="measure what an earlier run has, too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
