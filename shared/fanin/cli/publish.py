"""``fanin publish``: the rows of a file as the items of a batch, and as messages of an SQS queue."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from fanin.cli.output import Progress, note
from fanin.cli.sqs import queue_url, sqs_of
from fanin.cli.verbs import Invocation, Verbs
from fanin.client import documents

verb = Verbs()

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="JSON lines (.jsonl, .ndjson, .json), or CSV with a header.")
]
Queue = Annotated[str, typer.Option("--queue", metavar="QUEUE", help="The SQS queue: its URL or its name.")]
Chunk = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=10_000, help="Rows of a message; default: one alone."),
]
Rate = Annotated[float | None, typer.Option(metavar="N", min=0.001, help="Messages a second, at most.")]
UserKey = Annotated[
    str | None, typer.Option(metavar="KEY", help="Your name for the batch; default: that of the file.")
]
AgainOption = Annotated[
    Literal["outstanding", "failed"] | None,
    typer.Option(
        "--again",
        metavar="WHICH",
        help="If the batch is closed: send its items again, outstanding or failed.",
    ),
]


@verb("publish", writes=True)
def publish(
    call: Invocation,
    file: File,
    queue: Queue,
    chunk: Chunk = None,
    rate: Rate = None,
    user_key: UserKey = None,
    again: AgainOption = None,
) -> None:
    """Publish FILE as the items of one batch and print its id.

    Row k is item k. The batch is closed when all rows are sent; the same command again resumes a run that was
    stopped.
    """
    from fanin.publishing.publish import Again, PublishRequest, Sender  # noqa: PLC0415  # no other verb sends
    from fanin.publishing.publish import publish as published  # noqa: PLC0415

    _check(file)
    sqs = sqs_of(call.site)
    url, wanted = queue_url(sqs, queue), Again(again) if again else None
    _note_header(file)
    request = PublishRequest(file, url, user_key or file.stem, chunk, rate, wanted)
    try:
        batch = published(call.fanin, Sender(sqs, request), request, partial(_show, call.progress))
    finally:
        call.progress.clear()
    if call.output.as_json:
        call.output.value(call.api.get(f"/v1/batches/{batch.id}", documents.status_of).document, "")
    else:
        call.output.line(batch.id)


def _check(file: Path) -> None:
    """Refuse a file that cannot be sent, before a request is made. Raises InvalidRequest."""
    from fanin.publishing.rows import check_readable  # noqa: PLC0415  # see publish

    check_readable(file)


def _note_header(file: Path) -> None:
    """Print the fields of CSV, so that a missing header is noticed."""
    from fanin.publishing.rows import header_of  # noqa: PLC0415  # see publish

    if names := header_of(file):
        note(f"the first line is the header, so each row has the fields: {', '.join(names)}")


def _show(progress: Progress, sent: int, rows: int) -> None:
    progress.show(f"sent {sent:,} of {rows:,}")
