"""Sends the items that reconcile saved once more, under the ids that they had.

    python -m pipeline.jobs.redrive --saved PATH --queue-url URL --batches-table NAME --pages-table NAME

Right before an item is sent its page is read again, and what was acked since is left out. A batch that is
over is not redriven. Stopped and started again, the job goes on with what is left.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pipeline import cost, sinks
from pipeline import options as shared
from pipeline.failing import plainly
from pipeline.options import positive
from pipeline.progress import Report, teller
from pipeline.redriving import Order, preview, redrive
from pipeline.session import spark_session

SENTENCES = {
    "batch": "batch {batchId}: {state}; what is sent was outstanding as of {takenAt}",
    "progress": "  sent {sent:,} of {items:,} in {seconds:.0f} s",
    "sent": "sent {sent:,} of {items:,} in {seconds:.1f} s; {retried:,} retried",
    "redriven": "redriven: {sent:,} sent, {acked:,} left out as they were done by now; {retried:,} retried",
    "estimate": cost.SENTENCE,
}


def arguments() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("redrive", description=__doc__, formatter_class=form)
    add = parser.add_argument
    add("--saved", required=True, metavar="PATH", help="what reconcile saved")
    add("--queue-url", metavar="URL", help="the SQS queue that takes the messages (needed unless --dry-run)")
    add("--endpoint-url", metavar="URL", help="the endpoint of SQS (default: the executors' own)")
    add("--failed", action="store_true", help="send the items that failed, too; a success heals them")
    fresh = "look at each page right before it is sent (default), or send all that was saved"
    add("--fresh", action=argparse.BooleanOptionalAction, default=True, help=fresh)
    add(
        "--rate",
        type=positive,
        metavar="R",
        help="at most R messages a second, all executors together",
    )
    add("--cores", default="*", help="cores to use where no cluster runs the job (default: all)")
    add("--dry-run", action="store_true", help="print counts and cost; send nothing, look at no table")
    add("--json", action="store_true", help="print events as JSON lines")
    shared.add_tables(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    needed = ("queue_url", "batches_table", "pages_table")
    missing = [f"--{name.replace('_', '-')}" for name in needed if getattr(options, name) is None]
    if missing and not options.dry_run:
        parser.error(f"needed: {', '.join(missing)}")
    with plainly("redrive"):
        _run(options, teller(SENTENCES, options.json))


def _run(options: argparse.Namespace, tell: Report) -> None:
    queue = sinks.Queue(options.queue_url or "", options.region, options.endpoint_url)
    order = Order(options.saved, queue, options.failed, options.fresh, options.rate)
    tables = shared.tables_of(options)
    with spark_session("redrive", cores=options.cores) as spark:
        if options.dry_run or tables is None:
            tell("estimate", preview(spark, order).facts())
        else:
            redrive(spark, tables, order, tell)


if __name__ == "__main__":
    main()
