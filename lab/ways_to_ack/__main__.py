"""Measures each way to ack on the same items: ``make ways-to-ack``; a run that was stopped goes on.

``python -m lab.pages.page ways_to_ack`` writes docs/performance/ways_to_ack.md from the result.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lab.cost.items import ack_page
from lab.cost.running import configure, deployed
from lab.cost.stack import Stack
from lab.pages.revision import ROOT
from lab.ways_to_ack.bill import Function, Row, row_of
from lab.ways_to_ack.measuring import RATE, measure
from lab.ways_to_ack.table import NAME, keep_rows
from lab.ways_to_ack.ways import WAYS

ITEMS = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--items", type=int, default=ITEMS, help=f"default {ITEMS:,}")
    parser.add_argument("--rate", type=float, default=RATE, help=f"items a second, default {RATE:,}")
    parser.add_argument(
        "--keep", action="store_true", help="keep a result of other items or another rate, too"
    )
    parser.add_argument("--again", action="store_true", help="measure what an earlier run has, too")
    options = parser.parse_args()
    folder = ROOT / "build" / NAME / f"{options.items}-{options.rate:g}"
    if options.again:
        for path in folder.glob("*.json"):
            path.unlink()
    rows = measured(folder, options.items, options.rate)
    if options.keep or (options.items, options.rate) == (ITEMS, RATE):
        keep_rows(
            rows,
            options.items,
            f"--items {options.items} --rate {options.rate:g} --keep" if options.keep else "",
        )


def measured(folder: Path, items: int, rate: float) -> list[Row]:
    """Return the row of each way, from *folder* or measured and written there, and print them."""
    folder.mkdir(parents=True, exist_ok=True)
    function, rows = _function(folder / "function.json"), []
    for number, way in enumerate(WAYS):
        path = folder / f"{number}.json"
        if not path.exists():
            path.write_text(json.dumps(row_of(measure(way, items, rate), function).facts()))
        row = Row(**json.loads(path.read_text()))
        rows.append(row)
        facts = f"{row.requests:.4f} requests, {row.refused:.4f} refused, ${row.dollars:.3f} a million"
        print(f"{row.name:70} {facts}", flush=True)
    return rows


def _function(path: Path) -> Function:
    """Return the function that reads the acks queue: its memory by the template, its logs by running it."""
    if not path.exists():
        stack = Stack.synthesised()
        with deployed(stack) as meter:
            configure(stack, "consume_acks")
            page = ack_page(stack, meter, "consume_acks", 100)
        units = page.function.units
        found = {
            "gigabytes": stack.gigabytes("consume_acks"),
            "log_gb": units["log_gb"] / units["invocation"],
        }
        path.write_text(json.dumps(found))
    return Function(**json.loads(path.read_text()))


if __name__ == "__main__":
    main()
