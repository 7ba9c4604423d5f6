"""Finds which rows of a fanned-out dataset are not acked yet, and saves them for redrive.

    python -m pipeline.jobs.reconcile --batch ID --manifest PATH --out PATH \\
        --batches-export FOLDER --pages-export FOLDER

The tables are read from point-in-time exports, or live by a parallel Scan (--batches-table, --pages-table).
Nothing is written to them. The exit status is 0 where all could be told, whatever is outstanding.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pipeline import options as shared
from pipeline.failing import plainly
from pipeline.progress import Report, teller
from pipeline.reconciling import Wish, reconcile
from pipeline.session import spark_session

SENTENCES = {
    "batch": "batch {batchId}: {state}, {items:,} items, {failed:,} failed; as of {takenAt}",
    "saved": "of {rows:,} rows {outstanding:,} outstanding, {failed:,} failed: {path}, {seconds:.1f} s",
}


def arguments() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("reconcile", description=__doc__, formatter_class=form)
    add = parser.add_argument
    add("--batch", required=True, metavar="ID", help="the batch's id")
    add("--group", metavar="ID", help="which of its groups the manifest is (default: the only one)")
    add("--manifest", required=True, metavar="PATH", help="the manifest that fan_out wrote")
    add("--out", required=True, metavar="PATH", help="where the rows are saved, as Parquet")
    add("--failed", action="store_true", help="save the items that failed, too")
    add("--cores", default="*", help="cores to use where no cluster runs the job (default: all)")
    add("--json", action="store_true", help="print events as JSON lines")
    shared.add_exports(parser)
    shared.add_tables(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    shared.check_source(parser, options)
    with plainly("reconcile"):
        _run(options, teller(SENTENCES, options.json))


def _run(options: argparse.Namespace, tell: Report) -> None:
    wish = Wish(options.batch, options.manifest, options.out, options.group, options.failed)
    with spark_session("reconcile", cores=options.cores) as spark:
        reconcile(spark, shared.told_of(spark, options, wish.batch_id), wish, tell)


if __name__ == "__main__":
    main()
