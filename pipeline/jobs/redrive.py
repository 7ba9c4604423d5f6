"""Sends the items that reconcile saved again, under their first ids.

    python -m pipeline.jobs.redrive --saved PATH --queue-url URL --batches-table NAME --pages-table NAME

Each item's page is read right before it is sent, and items acked since are left out. A batch that has
ended is not redriven. A job that is stopped and started again sends the items that are left.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fanin.cost import estimate as cost
from pipeline.engine_without_spark import engines
from pipeline.engine_without_spark.arrow import without_pandas
from pipeline.engine_without_spark.listing import listed
from pipeline.fan_out import send
from pipeline.reconcile import local_redrive
from pipeline.reconcile.resending import RedriveRequest
from pipeline.shared_by_jobs.arguments import chunk_size, cores_of, job_parser, positive
from pipeline.shared_by_jobs.errors import exit_with_message
from pipeline.shared_by_jobs.output import is_committed
from pipeline.shared_by_jobs.progress import Report, event_printer
from pipeline.table_frames import options as shared
from pipeline.table_frames.tables import Tables

SENTENCES = {
    **engines.CHOSEN,
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
    engines.add_engine(parser)
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
    tables = None if options.dry_run else shared.tables_of(options)
    chosen = engines.choose(
        options.engine, lambda: listed([request.saved]) if is_committed(request.saved) else []
    )
    emit("engine", chosen)
    run = _run_here if chosen["engine"] == engines.LOCAL else _run_by_spark
    run(request, tables, options.cores, emit)


def _run_here(request: RedriveRequest, tables: Tables | None, cores: str, emit: Report) -> None:
    without_pandas()
    if tables is None:
        emit("estimate", local_redrive.preview(request).facts())
    else:
        local_redrive.redrive(tables, request, emit, cores_of(cores))


def _run_by_spark(request: RedriveRequest, tables: Tables | None, cores: str, emit: Report) -> None:
    # Spark takes a second to import.
    from pipeline.reconcile.redrive import preview, redrive  # noqa: PLC0415
    from pipeline.shared_by_jobs.session import spark_session  # noqa: PLC0415

    with spark_session("redrive", cores=cores) as spark:
        if tables is None:
            emit("estimate", preview(spark, request).facts())
        else:
            redrive(spark, tables, request, emit)


if __name__ == "__main__":
    main()
