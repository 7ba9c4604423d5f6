"""Fans a dataset out: one message a row on an SQS queue, every row an item of one batch.

    python -m pipeline.jobs.fan_out --api-url URL --queue-url URL --manifest PATH [--dataset PATH]

Started again with the same manifest, it resumes: the same batch, the same items under the same ids.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Sequence

from fanin import Fanin
from pipeline import cost, sinks, sources
from pipeline.failing import plainly
from pipeline.options import positive
from pipeline.progress import Report, teller
from pipeline.publishing import Order, fan_out, preview
from pipeline.session import spark_session

NEEDED = {"manifest": "--manifest", "api_url": "--api-url"}

SENTENCES = {
    "manifest": "manifest {path}: {items:,} items",
    "opened": "batch {batchId}: {items:,} items, closed",
    "saved": "saved {sent:,} messages in {seconds:.1f} s, {copies:,} of them twice: {path}",
    "progress": "  sent {sent:,} of {items:,} in {seconds:.0f} s",
    "sent": "sent {sent:,} of {items:,} in {seconds:.1f} s; {copies:,} of them twice, {retried:,} retried",
    "estimate": cost.SENTENCE,
}


def arguments() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("fan_out", description=__doc__, formatter_class=form)
    _add_places(parser)
    _add_manner(parser)
    return parser


def _add_places(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--dataset",
        default=str(sources.CATALOG),
        help="JSON lines, CSV, Parquet or ORC, or table:NAME (default: the catalog)",
    )
    add("--limit", type=int, metavar="N", help="only the first N rows")
    add(
        "--manifest",
        metavar="PATH",
        help="where the numbered rows are kept; the same path resumes (needed unless --dry-run)",
    )
    add("--api-url", metavar="URL", help="fanin's API (needed unless --dry-run)")
    add(
        "--queue-url",
        metavar="URL",
        help="the SQS queue that takes the messages (needed unless --dry-run or --files)",
    )
    add("--files", metavar="PATH", help="in place of a queue: save the messages here, as Parquet")
    add("--region", help="the region of queue and API (default: the environment's)")
    add("--endpoint-url", metavar="URL", help="the endpoint of SQS (default: the executors' own)")


def _add_manner(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--user-key", default="fan-out", help="the batch's name for its user")
    add("--rate", type=positive, metavar="R", help="at most R messages a second, all executors together")
    add("--chaos-duplicates", type=float, default=0.0, metavar="PERCENT", help="send so many items twice")
    add("--seed", type=int, default=0, help="chooses the items that are sent twice")
    add("--cores", default="*", help="cores to use where no cluster runs the job (default: all)")
    add("--dry-run", action="store_true", help="print counts and cost; write and send nothing")
    add("--json", action="store_true", help="print events as JSON lines")


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    missing = [flag for name, flag in NEEDED.items() if getattr(options, name) is None]
    if not options.queue_url and not options.files:
        missing.append("--queue-url (or --files)")
    if missing and not options.dry_run:
        parser.error(f"needed: {', '.join(missing)}")
    if options.queue_url and options.files:
        parser.error("--queue-url and --files exclude each other")
    if options.files and options.rate:
        parser.error("--rate goes with --queue-url")
    with plainly("fan_out"):
        _run(options, teller(SENTENCES, options.json))


def _run(options: argparse.Namespace, tell: Report) -> None:
    order = _order(options)
    with spark_session("fan_out", cores=options.cores) as spark:
        if options.dry_run:
            tell("estimate", preview(spark, order).facts())
        else:
            api = Fanin(options.api_url, region=options.region)
            fan_out(spark, api, order, tell, run=str(uuid.uuid4()))


def _order(options: argparse.Namespace) -> Order:
    return Order(
        dataset=options.dataset,
        manifest=options.manifest or "",
        queue=None if options.files else sinks.Queue(options.queue_url, options.region, options.endpoint_url),
        files=options.files,
        user_key=options.user_key,
        limit=options.limit,
        rate=options.rate,
        chaos_duplicates=options.chaos_duplicates,
        seed=options.seed,
    )


if __name__ == "__main__":
    main()
