"""Tells the life of batches from the archive of the tables' changes: Parquet tables, and a page to read.

    python -m pipeline.jobs.history --archive s3://BUCKET/changes --out FOLDER

The archive is what the stack keeps with the context ``archive=true``; a copy of it on this machine serves as
well. FOLDER gets a table each for batches, items, throughput, latencies, stragglers, reasons, bundles, tasks
and jobs, over those of a run before, and report.html. The exit status is 0 whatever became of the batches.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date

from fanin.errors import InvalidRequest
from fanin.tracker import checked_batch_id
from pipeline.failing import plainly
from pipeline.history import Days, Sources, report
from pipeline.progress import Report, teller
from pipeline.session import spark_session

SENTENCES = {
    "table": "{name}: {rows:,} rows in {seconds:.1f} s",
    "report": "{batches:,} batches, {items:,} items acked: {path}, {seconds:.1f} s",
}
LOG = "every ack that consumers sent: item_id, outcome, reason, and for latencies at and sent_at"
MANIFEST = "the manifest that fan_out wrote for a batch, to tell what its last items were"


def arguments() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("history", description=__doc__, formatter_class=form)
    add = parser.add_argument
    add("--archive", required=True, metavar="PATH", help="the folder with the table= folders")
    add("--out", required=True, metavar="FOLDER", help="where tables and page are written")
    add("--since", type=date.fromisoformat, metavar="DAY", help="the first day to read, in UTC (2026-01-31)")
    add("--until", type=date.fromisoformat, metavar="DAY", help="the last day to read, in UTC")
    add("--ack-log", metavar="PATH", help=LOG)
    add("--manifest", type=_manifest, action="append", default=[], metavar="BATCH=PATH", help=MANIFEST)
    add("--cores", default="*", help="cores to use where no cluster runs the job (default: all)")
    add("--json", action="store_true", help="print events as JSON lines")
    return parser


def _manifest(text: str) -> tuple[str, str]:
    batch_id, _, path = text.partition("=")
    try:
        return checked_batch_id(batch_id), path
    except InvalidRequest as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not BATCH=PATH: {error}") from error


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments().parse_args(argv)
    with plainly("history"):
        _run(options, teller(SENTENCES, options.json))


def _run(options: argparse.Namespace, tell: Report) -> None:
    days = Days(options.since, options.until)
    told = Sources(options.archive, days, options.ack_log, dict(options.manifest))
    with spark_session("history", cores=options.cores) as spark:
        report(spark, told, options.out, tell)


if __name__ == "__main__":
    main()
