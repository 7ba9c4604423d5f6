"""``fanin redrive``: dead-letter messages back to their queue, if their items can still be done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanin.aws.messaging.queue_urls import queue_url
from fanin.cli.arguments.completion import batch_names
from fanin.cli.batches.sqs import sqs_of
from fanin.cli.terminal.exits import Refused
from fanin.cli.terminal.output import Column, note
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.http_bodies.codec import Document
from fanin.names import camel

if TYPE_CHECKING:
    from fanin.dead_letter_queue_redrive.redrive import Redriven

verb = Verbs()

Queue = Annotated[
    str, typer.Argument(metavar="QUEUE", help="The dead-letter queue, or one of kept messages.")
]
Only = Annotated[
    str | None,
    typer.Option("--batch", metavar="BATCH", help="Only messages of this batch.", autocompletion=batch_names),
]
Target = Annotated[
    str | None,
    typer.Option("--to", metavar="QUEUE", help="The target; default: the queue each message came from."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Move nothing; print what would be moved.")]
COLUMNS = (
    Column("Messages", "what"),
    Column("Why", "why"),
    Column("Count", "count", lambda row: f"{row['count']:,}", right=True),
)


@verb("redrive", writes=True)
def redrive(
    call: Invocation, queue: Queue, batch: Only = None, to: Target = None, dry_run: DryRun = False
) -> None:
    """Move dead-letter messages back to their queue, if of use.

    Those whose item is outstanding or failed in a live batch are moved. All others stay, and are counted.
    """
    from fanin.dead_letter_queue_redrive.redrive import (  # noqa: PLC0415  # takes 0.2 s
        Redrive,
        RedriveRequest,
    )
    from fanin.dead_letter_queue_redrive.source_queues import has_sources  # noqa: PLC0415  # takes 0.2 s

    sqs = sqs_of(call.site)
    target = queue_url(sqs, to) if to else None
    batch_id = call.names.id_of(batch) if batch else None
    request = RedriveRequest(queue_url(sqs, queue), target, batch_id, dry_run)
    if target is None and not has_sources(sqs, request.url):
        raise Refused(
            f"{queue} is the dead-letter queue of no queue: give that one, or of kept messages --to QUEUE"
        )
    run = Redrive(sqs, call.api.transport, request, lambda found: call.progress.show(_counts(found, dry_run)))
    try:
        found = run.run()
    finally:
        call.progress.clear()
    _print(call, found, dry_run)


def _print(call: Invocation, found: Redriven, is_dry_run: bool) -> None:
    from fanin.dead_letter_queue_redrive.dead_letter_messages import LeaveReason  # noqa: PLC0415  # see redrive

    if call.output.as_json:
        call.output.value(_document(found, is_dry_run), "")
    else:
        call.output.table(COLUMNS, _rows(found, is_dry_run))
    if found.unseen:
        why = "in a FIFO queue those before them may hide them"
        note(f"{found.unseen:,} more were not received: run it again; {why}")
    if found.copies:
        note(f"SQS did not delete {found.copies:,} messages that were moved: they are in both queues")
    if refused := found.not_moved[LeaveReason.REFUSED]:
        raise Refused(f"SQS did not take {refused:,} messages, which were left; run it again")


def _moved(is_dry_run: bool) -> str:
    return "would move" if is_dry_run else "moved"


def _rows(found: Redriven, is_dry_run: bool) -> Iterator[Document]:
    yield {"what": _moved(is_dry_run), "why": "", "count": found.moved}
    for reason, count in found.not_moved.most_common():
        yield {"what": "left", "why": reason.value, "count": count}


def _document(found: Redriven, is_dry_run: bool) -> dict[str, Any]:
    not_moved = {camel(reason.name.lower()): count for reason, count in found.not_moved.items()}
    moved = {"wouldMove" if is_dry_run else "moved": found.moved}
    return {**moved, "left": not_moved, "unseen": found.unseen, "copies": found.copies, "dryRun": is_dry_run}


def _counts(found: Redriven, is_dry_run: bool) -> str:
    return f"{_moved(is_dry_run)} {found.moved:,}, left {found.not_moved.total():,}"
