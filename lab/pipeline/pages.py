"""CPU of writing folded pages through the real store, over canned answers: ``python -m lab.pipeline.pages``.

The job's code for one task, the tracker and botocore run as in production; DynamoDB's answers are made before
they are sent. *full*: no page is stored, and the logs have all items. *rest*: the last 5 % of pages of which
the others are acked. *95 %*: no page is stored, and one item in twenty is not in the logs. *failures*: full
pages of which one item in a hundred failed. *again*: full pages that an earlier run wrote.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import time
from collections.abc import Sequence
from random import Random

from fanin.aws.dynamodb.meter import Meter
from fanin.aws.dynamodb.rows import number
from fanin.pacing import each_in_threads
from fanin.tracker import OpenBatch, PageMasks, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.page import PAGE_BITS_MAX
from lab.pages.results import Table
from lab.pipeline.canned import FULL, NONE_STORED, Answers, Case, Row, page_row
from lab.spark.report import PAGES, keep_part
from pipeline.bulk_ack.write import PAGES_A_CALL, Marker, Portion, Target
from pipeline.table_frames.tables import Tables

TENANT = "111122223333"
_regions = itertools.count()
"""A client belongs to a region: each round has a new one, and no meter of another round."""
ROWS = 40_000_000
_random = Random(5)
MOST = FULL & ~sum(1 << bit for bit in _random.sample(range(PAGE_BITS_MAX), PAGE_BITS_MAX // 20))
FEW = sum(1 << bit for bit in _random.sample(range(PAGE_BITS_MAX), PAGE_BITS_MAX // 100))
KINDS = ("requests", "write_units")

COMPACTED: Row = {"n": number(PAGE_BITS_MAX), "ttl": number(1_800_000_000), "compacted": {"BOOL": True}}
CASES = {
    "full": NONE_STORED,
    "rest": Case(PageMasks(FULL & ~MOST), page_row(MOST), page_row(FULL)),
    "95 %": Case(PageMasks(MOST), None, page_row(MOST)),
    "failures": Case(PageMasks(FULL & ~FEW, FEW), None, page_row(FULL, FEW)),
    "again": Case(PageMasks(FULL), COMPACTED, COMPACTED),
}


def measured(case: Case, pages: int) -> tuple[float, Meter]:
    """Return the CPU seconds of *pages* pages, and the meter of their requests."""
    tables = Tables("batches", "pages", f"eu-west-{next(_regions)}")
    client, source = tables.client, Tracker(MemoryStore())
    batch = source.open(TENANT, OpenBatch())
    source.add(TENANT, batch.batch_id, 2 * pages * PAGE_BITS_MAX)
    meter = Meter().attach(client)
    Answers(case, source.get(TENANT, batch.batch_id)).attach(client)
    marker = Marker(Tracker(tables.store, each=each_in_threads), Target(tables, TENANT, "lab"), meter)
    portions = [
        Portion(batch.batch_id, dict.fromkeys(range(at, at + PAGES_A_CALL), case.masks))
        for at in range(0, pages, PAGES_A_CALL)
    ]
    started = time.process_time()
    for row in marker.mark_all(portions):
        assert int(row["accepted"]) + int(row["duplicate"]) == int(row["pages"]) * case.masks.mask.bit_count()
    return time.process_time() - started, meter


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=2_000, help="pages of a round, hundreds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="keep the result for docs/performance/spark.md")
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}")
    options = parser.parse_args(arguments)
    os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none")  # noqa: S106 - none
    cells = []
    for name in options.cases or CASES:
        found = [measured(CASES[name], options.pages) for _ in range(options.rounds)]
        cpu, totals = statistics.median(used for used, _ in found) / options.pages, found[0][1].totals
        counts = ", ".join(f"{totals[kind] / options.pages:.2f} {kind}" for kind in KINDS)
        whole = cpu * ROWS / PAGE_BITS_MAX
        print(f"{name:>9}: {cpu * 1e6:>6.0f} us of CPU a page, {counts}; {ROWS:,} rows: {whole:.1f} s")
        cells.append((name, f"{cpu * 1e6:.0f}", *(f"{totals[kind] / options.pages:.2f}" for kind in KINDS)))
    if options.keep:
        command = f"python -m lab.pipeline.pages {' '.join(arguments or sys.argv[1:])}"
        keep_part(PAGES, command, Table(("page", "us of CPU", "requests", "write units"), cells), [])


if __name__ == "__main__":
    main()
