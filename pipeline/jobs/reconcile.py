"""Finds the rows of a fanned-out dataset that are not acked yet, and saves them for redrive.

    fanin reconcile --batch ID --manifest PATH --out PATH \\
        --batches-export FOLDER --pages-export FOLDER

The tables are read from point-in-time exports, or live (--batches-table, --pages-table): with --tenant only
the pages of the batch that may have outstanding items, otherwise all rows. Nothing is written to them.
The exit status is 0 whether or not items are outstanding, 1 on an error.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fanin.tracker import BatchKey
from pipeline.engine_without_spark import engines
from pipeline.engine_without_spark.arrow import without_pandas
from pipeline.engine_without_spark.listing import NotListed, listed
from pipeline.fan_out import arrow_files
from pipeline.fan_out.arrow_files import NotByArrow
from pipeline.reconcile import local
from pipeline.reconcile.rules import ReconcileRequest
from pipeline.shared_by_jobs.arguments import cores_of, job_parser
from pipeline.shared_by_jobs.errors import exit_with_message
from pipeline.shared_by_jobs.files import ListedFile
from pipeline.shared_by_jobs.output import is_committed
from pipeline.shared_by_jobs.progress import Report, event_printer
from pipeline.table_frames import options as shared

SENTENCES = {
    **engines.CHOSEN,
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
    engines.add_engine(parser)
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
    chosen = engines.choose(options.engine, lambda: _input(options), (NotListed, NotByArrow))
    emit("engine", chosen)
    if chosen["engine"] == engines.LOCAL:
        without_pandas()
        local.reconcile(_rows(options, request), request, emit)
        return
    # Spark takes a second to import.
    from pipeline.reconcile.run import reconcile  # noqa: PLC0415
    from pipeline.shared_by_jobs.session import spark_session  # noqa: PLC0415
    from pipeline.table_frames.selecting import snapshot_of_batch  # noqa: PLC0415

    with spark_session("reconcile", cores=options.cores) as spark:
        snapshot = snapshot_of_batch(spark, options, request.batch_id, request.failed)
        reconcile(spark, snapshot, request, emit)


def _input(options: argparse.Namespace) -> list[ListedFile]:
    """Return the files of the exports, and of the manifest, if one is committed."""
    places = [f"{root}/data" for root in shared.exports_of(options)]
    manifest = [options.manifest] if is_committed(options.manifest) else []
    if manifest:
        label = arrow_files.load(options.manifest).label
        manifest += [label.messages] if label.messages else []
    return listed([*places, *manifest])


def _rows(options: argparse.Namespace, request: ReconcileRequest) -> local.TableRows:
    """Return the rows of the batch: from the exports, by its tenant's keys, or by a Scan."""
    cores, tables = cores_of(options.cores), shared.tables_of(options)
    exports = shared.exports_of(options)
    if exports or tables is None:
        return local.from_exports(exports, request.batch_id, cores)
    if options.tenant:
        key = BatchKey(options.tenant, request.batch_id)
        return local.from_batch(tables, key, request.failed, options.rate, cores)
    return local.from_tables(tables, request.batch_id, options.rate, cores)


if __name__ == "__main__":
    main()
