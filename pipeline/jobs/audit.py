"""Checks of every batch that its pages, their parents and its state agree.

    python -m pipeline.jobs.audit --batches-export FOLDER --pages-export FOLDER [--out PATH]
    python -m pipeline.jobs.audit --batches-table NAME --pages-table NAME [--rate R]

A finding that a write in progress could explain is rechecked in the live tables, if they are named, and is
reported if it is still there. The exit status is 1 if something is wrong, 0 otherwise.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fanin.tracker import checked_batch_id
from pipeline.shared_by_jobs.arguments import job_parser
from pipeline.shared_by_jobs.errors import exit_with_message
from pipeline.shared_by_jobs.progress import Report, event_printer
from pipeline.shared_by_jobs.session import spark_session
from pipeline.table_audit.run import AuditRequest, audit
from pipeline.table_frames import options as shared
from pipeline.table_frames.selecting import snapshot_of

SENTENCES = {
    "looking": "  rechecking {findings:,} findings in the live tables",
    "finding": "{certainty}: {rule}: {place}: {detail}",
    "more": "and {findings:,} more; --out keeps them all",
    "audited": (
        "{batches:,} batches, {pages:,} pages as of {takenAt}: {wrong:,} wrong, {doubtful:,} that a write in"
        " progress may explain, {gone:,} gone when rechecked; {seconds:.1f} s"
    ),
}


def arguments() -> argparse.ArgumentParser:
    parser = job_parser("audit", __doc__)
    add = parser.add_argument
    add("--batch", metavar="ID", help="only this batch (default: all)")
    add("--out", metavar="PATH", help="save the findings here, as Parquet")
    shared.add_exports(parser)
    shared.add_tables(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    shared.check_source(parser, options)
    with exit_with_message("audit"):
        wrong = _run(options, event_printer(SENTENCES, options.json))
    if wrong:
        raise SystemExit(1)


def _run(options: argparse.Namespace, emit: Report) -> int:
    batch_id = checked_batch_id(options.batch) if options.batch else None
    tables = shared.tables_of(options)
    with spark_session("audit", cores=options.cores) as spark:
        snapshot = snapshot_of(spark, options, batch_id)
        return audit(snapshot, AuditRequest(options.out, tables.store if tables else None), emit)


if __name__ == "__main__":
    main()
