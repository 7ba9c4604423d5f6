"""Fans a dataset out: each row becomes an item of one batch, and one message on an SQS queue.

    fanin fan-out --api-url URL --queue-url URL --manifest PATH [--dataset PATH]

Started again with the same manifest, it resumes: the same batch, the same items under the same ids.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Sequence

from fanin import Fanin
from fanin.cost import estimate as cost
from fanin.publishing.caps import Caps
from fanin.tracker.rules.options import PUBLISHED
from pipeline.engine_without_spark import engines
from pipeline.engine_without_spark.arrow import without_pandas
from pipeline.fan_out import send
from pipeline.fan_out.local import REFUSALS, LocalEngine
from pipeline.fan_out.publish import Engine, FanOutRequest, fan_out, preview
from pipeline.shared_by_jobs import datasets
from pipeline.shared_by_jobs.arguments import (
    add_batch_options,
    batch_options,
    chunk_size,
    cores_of,
    job_parser,
    positive,
)
from pipeline.shared_by_jobs.errors import exit_with_message
from pipeline.shared_by_jobs.progress import Report, event_printer

REQUIRED = {"manifest": "--manifest", "api_url": "--api-url"}

SENTENCES = {
    **engines.CHOSEN,
    "manifest": "manifest {path}: {items:,} items",
    "opened": "batch {batchId}: {items:,} items, closed",
    "saved": "saved {sent:,} messages in {seconds:.1f} s, {copies:,} of them twice: {path}",
    "progress": "  sent {sent:,} of {items:,} in {seconds:.0f} s",
    "sent": "sent {sent:,} of {items:,} in {seconds:.1f} s; {copies:,} of them twice, {retried:,} retried",
    "estimate": cost.SENTENCE,
}


def arguments() -> argparse.ArgumentParser:
    parser = job_parser("fan_out", __doc__, dry_run="print counts and cost; write and send nothing")
    _add_locations(parser)
    _add_behaviour(parser)
    add_batch_options(parser, PUBLISHED)
    return parser


def _add_locations(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--dataset",
        default=str(datasets.CATALOG),
        help="JSON lines, CSV, Parquet or ORC, or table:NAME (default: the catalog)",
    )
    add("--limit", type=int, metavar="N", help="only the first N rows")
    add(
        "--manifest",
        metavar="PATH",
        help="path of the numbered rows; the same path resumes (required unless --dry-run)",
    )
    add("--api-url", metavar="URL", help="fanin's API (required unless --dry-run)")
    add(
        "--queue-url",
        metavar="URL",
        help="the SQS queue for the messages (required unless --dry-run or --files)",
    )
    add("--files", metavar="PATH", help="instead of a queue: save the messages here, as Parquet")
    add(
        "--message-group",
        metavar="GROUP",
        help="the group among which SQS shares the queue's consumers (default: the batch)",
    )
    add("--region", help="the region of queue and API (default: the environment's)")
    add("--endpoint-url", metavar="URL", help="the endpoint of SQS (default: the executors' environment)")


def _add_behaviour(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--user-key", default="fan-out", help="the batch's name for its user")
    add("--rate", type=positive, metavar="R", help="at most R messages a second, all executors together")
    add("--chunk", type=chunk_size, metavar="N", help="N neighbouring rows in a message (default: one)")
    add(
        "--chaos-duplicates",
        type=float,
        default=0.0,
        metavar="PERCENT",
        help="send this share of items twice",
    )
    add("--seed", type=int, default=0, help="selects the items that are sent twice")
    engines.add_engine(parser)


def main(argv: Sequence[str] | None = None) -> None:
    parser = arguments()
    options = parser.parse_args(argv)
    missing = [flag for name, flag in REQUIRED.items() if getattr(options, name) is None]
    if not options.queue_url and not options.files:
        missing.append("--queue-url (or --files)")
    if missing and not options.dry_run:
        parser.error(f"required: {', '.join(missing)}")
    if options.queue_url and options.files:
        parser.error("--queue-url and --files exclude each other")
    for name in ("rate", "chunk", "message_group"):
        if options.files and getattr(options, name):
            parser.error(f"--{name.replace('_', '-')} goes with --queue-url")
    with exit_with_message("fan_out"):
        _run(options, event_printer(SENTENCES, options.json))


def _run(options: argparse.Namespace, emit: Report) -> None:
    request, local = _request(options), LocalEngine(cores_of(options.cores))
    chosen = engines.choose(options.engine, lambda: local.list_dataset(request), REFUSALS)
    emit("engine", chosen)
    if chosen["engine"] == engines.LOCAL:
        without_pandas()
        _publish(local, request, options, emit)
        return
    # Spark takes a second to import.
    from pipeline.fan_out.on_spark import SparkEngine  # noqa: PLC0415
    from pipeline.shared_by_jobs.session import spark_session  # noqa: PLC0415

    with spark_session("fan_out", cores=options.cores) as spark:
        _publish(SparkEngine(spark), request, options, emit)


def _publish(engine: Engine, request: FanOutRequest, options: argparse.Namespace, emit: Report) -> None:
    if options.dry_run:
        emit("estimate", preview(engine, request).facts())
        return
    api = Fanin(options.api_url, region=options.region)
    fan_out(engine, api, request, emit, run=str(uuid.uuid4()))


def _request(options: argparse.Namespace) -> FanOutRequest:
    given = batch_options(options, PUBLISHED)
    return FanOutRequest(
        dataset=options.dataset,
        manifest=options.manifest or "",
        queue=None if options.files else _queue(options),
        files=options.files,
        user_key=options.user_key,
        limit=options.limit,
        rate=options.rate,
        chaos_duplicates=options.chaos_duplicates,
        seed=options.seed,
        chunk=options.chunk,
        caps=Caps.taken_from(given),
        options=given,
    )


def _queue(options: argparse.Namespace) -> send.Queue:
    return send.Queue(options.queue_url, options.region, options.endpoint_url, options.message_group)


if __name__ == "__main__":
    main()
