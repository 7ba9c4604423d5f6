"""Acks the items that ack logs list: Parquet, JSON lines or CSV.

Rows have item_id, or batch_id, group_id and index, or batch_id, group_id, first and last (a range); and
optionally outcome and reason. Files of the archive (table=pages, table=batches) are logs, too.

    fanin bulk-ack LOG... --tenant T --batches-table NAME --pages-table NAME --rejects PATH
    ... FOLDER --checkpoint PATH [--every SECONDS]     each file of the folder once, as it arrives

Acks may be in any order, repeated, and of many batches. A second run changes nothing. Rejected rows, which
set no bit (unknown, forged, malformed), are saved under --rejects. The exit status is 3 if there are any, 1
on an error, 0 otherwise.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.bulk_ack.local import LocalEngine
from pipeline.bulk_ack.run import BulkAckRequest, Engine, bulk_ack, follow, preview
from pipeline.engine_without_spark import engines
from pipeline.engine_without_spark.arrow import without_pandas
from pipeline.shared_by_jobs.arguments import cores_of, job_parser, positive
from pipeline.shared_by_jobs.errors import exit_with_message
from pipeline.shared_by_jobs.progress import Report, event_printer
from pipeline.table_frames import options as shared

if TYPE_CHECKING:
    pass

SOME_REJECTED = 3

SENTENCES = {
    **engines.CHOSEN,
    "folded": (
        "{acks:,} acks in {files:,} files: {items:,} items in {pages:,} pages, {repeated:,} repeated,"
        " {rejected:,} rejected; {seconds:.1f} s"
    ),
    "rejected": "saved {rows:,} rejected rows ({why}): {path}",
    "progress": "  {done:,} of {pages:,} pages, {fresh:,} newly acked in {seconds:.0f} s",
    "acked": (
        "{acks:,} acks of {items:,} items: {fresh:,} are new ({failed:,} of them failed); {duplicate:,} old,"
        " {healed:,} healed; too late: {late}; rejected: {why}; {written:,} of {pages:,} pages written,"
        " {requests:,} requests, {writeUnits:,} write units; {complete:,} of {batches:,} batches complete;"
        " {seconds:.1f} s"
    ),
    "estimate": (
        "{pages:,} pages: {reads:,} read units, at most {mostWrites:,} write units, {price}"
        " at list price; nothing was written"
    ),
}


def arguments() -> argparse.ArgumentParser:
    parser = job_parser("bulk_ack", __doc__, dry_run="fold and print counts and cost; write nothing")
    add = parser.add_argument
    add("logs", nargs="+", metavar="LOG", help="files, folders or patterns")
    add("--tenant", required=True, help="the tenant of the batches")
    add("--rejects", metavar="PATH", help="save rejected rows here, as Parquet (required unless --dry-run)")
    add("--checkpoint", metavar="PATH", help="take the files of one folder as they arrive, remembered here")
    add(
        "--every",
        type=positive,
        metavar="SECONDS",
        help="look for new files so often (default: once)",
    )
    add("--rate", type=positive, metavar="R", help="at most R write units a second, all executors together")
    engines.add_engine(parser)
    shared.add_tables(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    _check(parser, options)
    with exit_with_message("bulk_ack"):
        rejected = _run(options, event_printer(SENTENCES, options.json))
    if rejected:
        raise SystemExit(SOME_REJECTED)


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with a message if options contradict each other."""
    if not options.pages_table or not options.batches_table:
        parser.error("required: --batches-table and --pages-table")
    if not options.dry_run and not options.rejects:
        parser.error("required: --rejects, the path for rejected rows")
    if options.checkpoint and (len(options.logs) > 1 or options.dry_run):
        parser.error("--checkpoint takes one folder, and no --dry-run")
    if options.every is not None and not options.checkpoint:
        parser.error("--every goes with --checkpoint")


def _run(options: argparse.Namespace, emit: Report) -> int:
    """Run the job; return the number of rejected rows."""
    tables, run = shared.named_tables(options), str(uuid.uuid4())
    request = BulkAckRequest(tables, options.tenant, options.rejects or "", run, options.rate)
    local = LocalEngine(cores_of(options.cores))
    chosen = engines.choose(options.engine, lambda: local.list_logs(options.logs))
    emit("engine", chosen)
    if chosen["engine"] == engines.LOCAL:
        without_pandas()
        return _rejected(local, options, request, emit)
    return _on_spark(options, request, emit)


def _on_spark(options: argparse.Namespace, request: BulkAckRequest, emit: Report) -> int:
    # Spark takes a second to import.
    from pipeline.bulk_ack.on_spark import SparkEngine  # noqa: PLC0415  # see above
    from pipeline.shared_by_jobs.session import spark_session  # noqa: PLC0415  # see above

    with spark_session("bulk_ack", cores=options.cores) as spark:
        return _rejected(SparkEngine(spark), options, request, emit)


def _rejected(engine: Engine, options: argparse.Namespace, request: BulkAckRequest, emit: Report) -> int:
    """Run the job on *engine*; return the number of rejected rows."""
    if options.checkpoint:
        found = follow(engine, options.logs[0], options.checkpoint, request, emit, options.every)
        return sum(counts["rejected"] for counts in found)
    logs = engine.list_logs(options.logs)
    if options.dry_run:
        preview(engine, logs, request, emit)
        return 0
    return bulk_ack(engine, logs, request, emit)["rejected"]


if __name__ == "__main__":
    main()
