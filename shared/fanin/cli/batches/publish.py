"""``fanin publish``: the rows of a file or of S3 as items of a batch, and as messages of an SQS queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fanin.cli.batches.options import checked, given_options, parameters
from fanin.cli.batches.sqs import s3_of, sqs_of, target_url
from fanin.cli.terminal.output import Progress, note
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.http_bodies import documents
from fanin.errors import InvalidRequest, NotFound
from fanin.tracker.rules.options import PUBLISHED

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from fanin.publishing.publish import PublishRequest
    from fanin.publishing.row_sources.source import Source

verb = Verbs()

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="JSON lines (.jsonl, .ndjson, .json), CSV with a header, or Parquet; or s3://BUCKET/KEY of one,"
        " s3://BUCKET/PREFIX/, or the manifest.json of an S3 inventory.",
    ),
]
Queue = Annotated[str, typer.Option("--queue", metavar="QUEUE", help="The SQS queue: its URL or its name.")]
Chunk = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=10_000, help="Rows of a message; default: one alone."),
]
Rate = Annotated[float | None, typer.Option(metavar="N", min=0.001, help="About how many messages a second.")]
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

MaxItems = Annotated[
    int | None,
    typer.Option(
        "--max-items", metavar="N", min=1, help="Refuse a file of more rows; --server cancels its batch."
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        metavar="DOLLARS",
        min=0.000001,
        help="Refuse a file that costs more, as estimated; --server cancels its batch.",
    ),
]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Also a file without rows.")]
Group = Annotated[
    str | None,
    typer.Option(
        "--message-group",
        metavar="GROUP",
        help="By which SQS shares the consumers; default: the batch.",
    ),
]

Server = Annotated[
    bool,
    typer.Option(
        "--server", help="A function of the stack reads s3://BUCKET/KEY; the command only starts it."
    ),
]


CAPS = ("max_items", "max_cost")
OF_BATCH = parameters(name for name in PUBLISHED if name not in CAPS)
"""The options of the batch, but the caps, which the command checks itself."""


@verb("publish", writes=True, options=OF_BATCH)
def publish(
    call: Invocation,
    file: File,
    queue: Queue,
    chunk: Chunk = None,
    rate: Rate = None,
    user_key: UserKey = None,
    again: AgainOption = None,
    message_group: Group = None,
    max_items: MaxItems = None,
    max_cost: MaxCost = None,
    allow_empty: AllowEmpty = False,
    server: Server = False,
    **options: Any,
) -> None:
    """Publish FILE as the items of one batch and print its id.

    The batch is closed when all rows are sent. The same command again resumes a run that was stopped.
    """
    from fanin.publishing.caps import Caps  # noqa: PLC0415  # no other verb sends

    of_batch = given_options(call, options)
    checked(None, of_batch)
    if server:
        order = {"queue": queue, "chunk": chunk, "rate": rate, "message_group": message_group}
        order |= {"user_key": user_key, "max_items": max_items, "max_cost": max_cost}
        return _start(call, file, {"--again": again, "--allow-empty": allow_empty}, order | of_batch)
    facts: dict[str, Any] = {"chunk": chunk, "rate": rate, "may_be_empty": allow_empty, "options": of_batch}
    facts |= {"group": message_group, "caps": Caps(max_items, max_cost)}
    return _send(call, file, queue, user_key, again, **facts)


def _send(
    call: Invocation, file: str, queue: str, user_key: str | None, again: str | None, **facts: Any
) -> None:
    """Publish *file*, and print the id of its batch; *facts*: the other ones of a ``PublishRequest``."""
    from fanin.publishing.publish import Again, PublishRequest  # noqa: PLC0415  # see publish

    source, sqs = _source(call, file), sqs_of(call.site)
    url, wanted = _target(sqs, queue), Again(again) if again else None
    _note_header(source)
    key = source.title if user_key is None else user_key
    request = PublishRequest(source, url, key, again=wanted, **facts)
    _print(call, _published(call, sqs, request))


def _start(call: Invocation, file: str, own: Mapping[str, object], order: Mapping[str, Any]) -> None:
    """Let the stack publish *file*; *own*: options that it does not take, *order*: those that it does."""
    from fanin.cli.batches.publish_by_stack import start  # noqa: PLC0415  # no other verb starts it
    from fanin.publishing.row_sources.formats import title_of  # noqa: PLC0415  # see publish

    key = order["user_key"] or title_of(file)
    start(call, {"source": file, **order, "user_key": key}, [name for name in own if own[name]])


def _target(sqs: SQSClient, queue: str) -> str:
    """Return the URL of *queue*. Raises NotFound, InvalidRequest, which say that nothing was done."""
    try:
        return target_url(sqs, queue)
    except (NotFound, InvalidRequest) as error:
        raise type(error)(f"{error}. No batch was opened") from None


def _published(call: Invocation, sqs: SQSClient, request: PublishRequest) -> str:
    """Publish *request* and return the id of its batch, also that of an earlier run that sent all."""
    from fanin.publishing.publish import AlreadyPublished, publish  # noqa: PLC0415  # see publish
    from fanin.publishing.sender import Sender  # noqa: PLC0415  # see publish

    counts = Counts(call.progress)
    try:
        batch_id = publish(call.fanin, Sender(sqs, request), request, counts.show, note).id
        counts.note()
    except AlreadyPublished as published:
        batch_id = published.batch_id
        note(str(published))
    finally:
        call.progress.clear()
    return batch_id


@dataclass(slots=True)
class Counts:
    """The items that were *sent*, of all *rows*."""

    progress: Progress
    sent: int = 0
    rows: int = 0

    def show(self, sent: int, rows: int) -> None:
        """Show how many are sent by now, and before, how many are read."""
        self.sent, self.rows = sent, rows
        self.progress.show(f"sent {sent:,} of {rows:,}" if sent else f"read {rows:,} rows")

    def note(self) -> None:
        """Print how many were sent, and how many were not because they are done, or were not asked for."""
        self.progress.clear()
        skipped = self.rows - self.sent
        note(f"sent {self.sent:,} of {self.rows:,} rows" + (f", skipped {skipped:,}" if skipped else ""))


def _print(call: Invocation, batch_id: str) -> None:
    """Print the id of the batch, or its document."""
    if call.output.as_json:
        call.output.value(call.api.get(f"/v1/batches/{batch_id}", documents.status_of).document, "")
    else:
        call.output.line(batch_id)


def _source(call: Invocation, name: str) -> Source:
    """Return the source *name*, before a request is made to the API. Raises InvalidRequest."""
    from fanin.publishing.row_sources.naming import source_of  # noqa: PLC0415  # see publish

    return source_of(name, lambda: s3_of(call.site))


def _note_header(source: Source) -> None:
    """Print the fields of CSV, so that a missing header is noticed."""
    if names := source.header():
        note(f"the first line is the header, so each row has the fields: {', '.join(names)}")
