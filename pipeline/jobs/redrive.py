"""Sends the items that reconcile saved again, under their first ids.

    python -m pipeline.jobs.redrive --saved PATH --queue-url URL --batches-table NAME --pages-table NAME

Each item's page is read right before it is sent, and items acked since are left out. A batch that has
ended is not redriven. A job that is stopped and started again sends the items that are left.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fanin.cost import estimate as cost
from pipeline.fan_out import send
from pipeline.reconcile.redrive import RedriveRequest, preview, redrive
from pipeline.shared_by_jobs.arguments import chunk_size, job_parser, positive
from pipeline.shared_by_jobs.errors import exit_with_message
from pipeline.shared_by_jobs.progress import Report, event_printer
from pipeline.shared_by_jobs.session import spark_session
from pipeline.table_frames import options as shared

SENTENCES = {
    "batch": "batch {batchId}: {state}; what is sent was outstanding as of {takenAt}",
    "progress": "  sent {sent:,} of {items:,} in {seconds:.0f} s",
    "sent": "sent {sent:,} of {items:,} in {seconds:.1f} s; {retried:,} retried",
    "redriven": "redriven: {sent:,} sent, {acked:,} left out as acked since; {retried:,} retried",
    "estimate": cost.SENTENCE,
}


def arguments() -> argparse.ArgumentParser:
    parser = job_parser("redrive", __doc__, dry_run="print counts and cost; send nothing, read no table")
    add = parser.add_argument
    add("--saved", required=True, metavar="PATH", help="what reconcile saved")
    add("--queue-url", metavar="URL", help="the SQS queue for the messages (required unless --dry-run)")
    add(
        "--message-group",
        metavar="GROUP",
        help="the group among which SQS shares the queue's consumers (default: the batch)",
    )
    add("--endpoint-url", metavar="URL", help="the endpoint of SQS (default: the executors' environment)")
    add("--failed", action="store_true", help="send failed items too; a success heals them")
    fresh = "read each page right before its items are sent (default), or send all saved items"
    add("--fresh", action=argparse.BooleanOptionalAction, default=True, help=fresh)
    add(
        "--rate",
        type=positive,
        metavar="R",
        help="at most R messages a second, all executors together",
    )
    add("--chunk", type=chunk_size, metavar="N", help="N neighbouring rows in a message (default: one)")
    shared.add_tables(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    needed = ("queue_url", "batches_table", "pages_table")
    missing = [f"--{name.replace('_', '-')}" for name in needed if getattr(options, name) is None]
    if missing and not options.dry_run:
        parser.error(f"required: {', '.join(missing)}")
    with exit_with_message("redrive"):
        _run(options, event_printer(SENTENCES, options.json))


def _run(options: argparse.Namespace, emit: Report) -> None:
    queue = send.Queue(options.queue_url or "", options.region, options.endpoint_url, options.message_group)
    request = RedriveRequest(options.saved, queue, options.failed, options.fresh, options.rate, options.chunk)
    tables = shared.tables_of(options)
    with spark_session("redrive", cores=options.cores) as spark:
        if options.dry_run or tables is None:
            emit("estimate", preview(spark, request).facts())
        else:
            redrive(spark, tables, request, emit)


if __name__ == "__main__":
    main()
