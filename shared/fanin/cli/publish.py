"""``fanin publish``: the rows of a file as the items of a batch, and as messages of an SQS queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fanin.errors import FaninError, InvalidRequest, StoreUnavailable

if TYPE_CHECKING:
    from fanin.publishing.publish import PublishRequest

REFUSED, UNKNOWN = 1, 5
"""Exit codes: the request was refused; no answer came, so the outcome is unknown: run it again."""

File = Annotated[Path, typer.Argument(help="JSON lines (.jsonl, .ndjson, .json), or CSV with a header.")]
Queue = Annotated[str, typer.Option("--queue", help="The SQS queue: its URL or its name.")]
Url = Annotated[str, typer.Option("--url", envvar="FANIN_URL", help="The URL of the API.")]
Chunk = Annotated[int | None, typer.Option(min=1, max=10_000, help="Rows of a message; default: one alone.")]
Rate = Annotated[float | None, typer.Option(min=0.001, help="Messages a second, at most.")]
UserKey = Annotated[str | None, typer.Option(help="Your name for the batch; default: that of the file.")]
AgainOption = Annotated[
    Literal["outstanding", "failed"] | None,
    typer.Option("--again", help="If the batch is closed: send these items of it again."),
]


def publish(
    file: File,
    queue: Queue,
    url: Url,
    chunk: Chunk = None,
    rate: Rate = None,
    user_key: UserKey = None,
    again: AgainOption = None,
) -> None:
    """Publish FILE: row k is item k of one batch, which is closed when all rows are sent. Prints its id.

    The same command again resumes a run that was stopped.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # other verbs need no AWS

    from fanin.publishing.publish import Again, PublishRequest  # noqa: PLC0415

    try:
        wanted = Again(again) if again else None
        request = PublishRequest(file, _queue_url(queue), user_key or file.stem, chunk, rate, wanted)
        typer.echo(_published(url, request))
    except (FaninError, BotoCoreError, ClientError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(UNKNOWN if isinstance(error, StoreUnavailable) else REFUSED) from None


def _published(url: str, request: PublishRequest) -> str:
    """Publish *request* and return the id of its batch."""
    from fanin import Fanin  # noqa: PLC0415
    from fanin.aws import clients  # noqa: PLC0415
    from fanin.publishing.publish import Sender, publish  # noqa: PLC0415

    return publish(Fanin(url), Sender(clients.sqs(), request), request, _progress).id


def _queue_url(queue: str) -> str:
    """Return the URL of *queue*, which is one, or the name of a queue."""
    from fanin.aws import clients  # noqa: PLC0415

    if queue.startswith(("http://", "https://")):
        return queue
    sqs = clients.sqs()
    try:
        return sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    except sqs.exceptions.QueueDoesNotExist:
        where = f"account and region of your AWS credentials ({sqs.meta.endpoint_url})"
        raise InvalidRequest(f"there is no queue {queue!r} in the {where}", field="queue") from None


def _progress(sent: int, rows: int) -> None:
    typer.echo(f"sent {sent:,} of {rows:,}", err=True)
