"""Finds the rows of a fanned-out dataset that are not acked yet, and saves them for redrive.

    python -m pipeline.jobs.reconcile --batch ID --manifest PATH --out PATH \\
        --batches-export FOLDER --pages-export FOLDER

The tables are read from point-in-time exports, or live (--batches-table, --pages-table): with --tenant only
the pages of the batch that may have outstanding items, otherwise all rows. Nothing is written to them.
The exit status is 0 whether or not items are outstanding, 1 on an error.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pipeline.reconcile.run import ReconcileRequest, reconcile
from pipeline.shared_by_jobs.arguments import job_parser
from pipeline.shared_by_jobs.errors import exit_with_message
from pipeline.shared_by_jobs.progress import Report, event_printer
from pipeline.shared_by_jobs.session import spark_session
from pipeline.table_frames import options as shared
from pipeline.table_frames.selecting import snapshot_of_batch

SENTENCES = {
    "batch": "batch {batchId}: {state}, {items:,} items, {failed:,} failed; as of {takenAt}",
    "saved": "of {rows:,} rows {outstanding:,} outstanding, {failed:,} failed: {path}, {seconds:.1f} s",
}


def arguments() -> argparse.ArgumentParser:
    parser = job_parser("reconcile", __doc__)
    add = parser.add_argument
    add("--batch", required=True, metavar="ID", help="the batch's id")
    add("--group", metavar="ID", help="the group of the manifest's rows (default: the only one)")
    add("--manifest", required=True, metavar="PATH", help="the manifest that fan_out wrote")
    add("--out", required=True, metavar="PATH", help="save the rows here, as Parquet")
    add("--tenant", help="the tenant of the batch: of live tables, read its open pages in place of all rows")
    add("--failed", action="store_true", help="save failed items too")
    shared.add_exports(parser)
    shared.add_tables(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    shared.check_source(parser, options)
    with exit_with_message("reconcile"):
        _run(options, event_printer(SENTENCES, options.json))


def _run(options: argparse.Namespace, emit: Report) -> None:
    request = ReconcileRequest(options.batch, options.manifest, options.out, options.group, options.failed)
    with spark_session("reconcile", cores=options.cores) as spark:
        snapshot = snapshot_of_batch(spark, options, request.batch_id, request.failed)
        reconcile(spark, snapshot, request, emit)


if __name__ == "__main__":
    main()
