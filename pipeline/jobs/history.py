"""Computes the lifecycle of batches from the archive of table changes, as Parquet tables.

    python -m pipeline.jobs.history --archive s3://BUCKET/changes --out FOLDER

The stack keeps the archive with the context ``archive=true``; PATH may be a local copy. FOLDER gets tables of
batches, items, throughput, latencies, stragglers, reasons, bundles, tasks and jobs; those of an earlier run
are replaced. ``fanin report FOLDER`` shows them as a page. The exit status is 0 whatever the outcome of the
batches.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date

from fanin.errors import InvalidRequest
from fanin.tracker import checked_batch_id
from pipeline.history_tables import Days, Sources, build
from pipeline.shared_by_jobs.arguments import job_parser
from pipeline.shared_by_jobs.errors import exit_with_message
from pipeline.shared_by_jobs.progress import Report, event_printer
from pipeline.shared_by_jobs.session import spark_session

SENTENCES = {
    "table": "{name}: {rows:,} rows in {seconds:.1f} s",
    "saved": "{batches:,} batches, {items:,} items acked, {seconds:.1f} s; their page: fanin report {path}",
}
LOG = "every ack that consumers sent: item_id, outcome, reason, and for latencies at and sent_at"
MANIFEST = "the manifest that fan_out wrote for a batch, to show the rows of its last items"


def arguments() -> argparse.ArgumentParser:
    parser = job_parser("history", __doc__)
    add = parser.add_argument
    add("--archive", required=True, metavar="PATH", help="the folder with the table= folders")
    add("--out", required=True, metavar="FOLDER", help="write the tables here")
    add("--since", type=date.fromisoformat, metavar="DAY", help="the first day to read, in UTC (2026-01-31)")
    add("--until", type=date.fromisoformat, metavar="DAY", help="the last day to read, in UTC")
    add("--ack-log", metavar="PATH", help=LOG)
    add("--manifest", type=_manifest, action="append", default=[], metavar="BATCH=PATH", help=MANIFEST)
    return parser


def _manifest(text: str) -> tuple[str, str]:
    batch_id, _, path = text.partition("=")
    try:
        return checked_batch_id(batch_id), path
    except InvalidRequest as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not BATCH=PATH: {error}") from error


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments().parse_args(argv)
    with exit_with_message("history"):
        _run(options, event_printer(SENTENCES, options.json))


def _run(options: argparse.Namespace, emit: Report) -> None:
    days = Days(options.since, options.until)
    sources = Sources(options.archive, days, options.ack_log, dict(options.manifest))
    with spark_session("history", cores=options.cores) as spark:
        build(spark, sources, options.out, emit)


if __name__ == "__main__":
    main()
