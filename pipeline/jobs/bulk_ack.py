"""Acks in bulk what ack logs say: Parquet, JSON lines or CSV with item_id, outcome and reason (if any).

    python -m pipeline.jobs.bulk_ack LOG... --tenant T --batches-table NAME --pages-table NAME --aside PATH
    ... FOLDER --checkpoint PATH [--every SECONDS]     each file of the folder once, as it arrives

Acks may come in any order, many times, and of many batches. Run again, it changes nothing. Rows that set no
bit (unknown, forged, malformed) are saved under --aside. The exit status is 3 where there are any, 1 where
pages are left to mark, 0 otherwise.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from pipeline import bulk_acking
from pipeline import options as shared
from pipeline.bulk_acking import Order
from pipeline.failing import plainly
from pipeline.options import positive
from pipeline.progress import Report, teller
from pipeline.session import spark_session

SOME_ASIDE = 3

SENTENCES = {
    "folded": (
        "{acks:,} acks in {files:,} files: {items:,} items in {pages:,} pages, {repeated:,} repeated,"
        " {aside:,} to put aside; {seconds:.1f} s"
    ),
    "aside": "put aside {rows:,} rows ({why}): {path}",
    "progress": "  {done:,} of {pages:,} pages, {fresh:,} newly acked in {seconds:.0f} s",
    "acked": (
        "{acks:,} acks of {items:,} items: {fresh:,} are new ({failed:,} of them failed); {duplicate:,} old,"
        " {healed:,} healed; too late: {late}; put aside: {why}; {written:,} of {pages:,} pages written,"
        " {requests:,} requests, {writeUnits:,} write units; {complete:,} of {batches:,} batches complete;"
        " {seconds:.1f} s"
    ),
    "estimate": (
        "{pages:,} pages: {reads:,} read units, at most {mostWrites:,} write units, {price}"
        " at list price; nothing was written"
    ),
}


def arguments() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("bulk_ack", description=__doc__, formatter_class=form)
    add = parser.add_argument
    add("logs", nargs="+", metavar="LOG", help="files, folders or patterns")
    add("--tenant", required=True, help="whose batches they are")
    add(
        "--aside",
        metavar="PATH",
        help="where rows that set no bit are saved, as Parquet (needed unless --dry-run)",
    )
    add("--checkpoint", metavar="PATH", help="take the files of one folder as they arrive, remembered here")
    add("--every", type=positive, metavar="SECONDS", help="look for new files so often (default: once)")
    add(
        "--rate",
        type=positive,
        metavar="R",
        help="at most R write units a second, all executors together",
    )
    add("--cores", default="*", help="cores to use where no cluster runs the job (default: all)")
    add("--dry-run", action="store_true", help="fold and print counts and cost; write nothing")
    add("--json", action="store_true", help="print events as JSON lines")
    shared.add_tables(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    _check(parser, options)
    with plainly("bulk_ack"):
        aside = _run(options, teller(SENTENCES, options.json))
    if aside:
        raise SystemExit(SOME_ASIDE)


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Leave with a message where the options do not go together."""
    if shared.tables_of(options) is None or not options.pages_table or not options.batches_table:
        parser.error("needed: --batches-table and --pages-table")
    if not options.dry_run and not options.aside:
        parser.error("needed: --aside, where rows are saved that set no bit")
    if options.checkpoint and (len(options.logs) > 1 or options.dry_run):
        parser.error("--checkpoint takes one folder, and no --dry-run")
    if options.every is not None and not options.checkpoint:
        parser.error("--every goes with --checkpoint")


def _run(options: argparse.Namespace, tell: Report) -> int:
    """How many rows were put aside."""
    tables, run = shared.tables_of(options), str(uuid.uuid4())
    order = Order(tables, options.tenant, options.aside or "", run, options.rate)
    with spark_session("bulk_ack", cores=options.cores) as spark:
        if options.checkpoint:
            return _stream(spark, options, order, tell)
        logs = bulk_acking.list_logs(spark, options.logs)
        if options.dry_run:
            bulk_acking.preview(spark, logs, order, tell)
            return 0
        return bulk_acking.bulk_ack(spark, logs, order, tell)["aside"]


def _stream(spark: SparkSession, options: argparse.Namespace, order: Order, tell: Report) -> int:
    """How many rows were put aside by all micro-batches of this start."""
    aside = 0

    def report(event: str, facts: dict[str, Any]) -> None:
        nonlocal aside
        aside += facts["aside"] if event == "acked" else 0
        tell(event, facts)

    (folder,) = options.logs
    query = bulk_acking.stream(spark, folder, options.checkpoint, order, report, options.every)
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return aside


if __name__ == "__main__":
    main()
