"""The verbs that change one batch, or let others read it: add, close, cancel, notify, token."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fanin.cli.arguments.items import ItemRange
from fanin.cli.arguments.options import Batch, checked_key
from fanin.cli.terminal.durations import duration
from fanin.cli.terminal.exits import Refused, UsageError
from fanin.cli.terminal.output import clean, note
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.http_bodies import documents
from fanin.client.model import Summary
from fanin.tracker.batch_changes.cascading import CANCELS_A_REQUEST
from fanin.tracker.rules.ids import COUNT_MAX
from fanin.tracker.rules.model import ALIVE

verb = Verbs()

COUNTED = 500
"""Live batches below one that are counted: each is a request."""

Count = Annotated[int, typer.Argument(metavar="N", min=1, max=COUNT_MAX, help="How many items.")]
AddKey = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        callback=checked_key,
        help="Names the request: repeated with it, it has no further effect.",
    ),
]
Ids = Annotated[bool, typer.Option("--ids", help="One item id a line, in place of ranges.")]
Why = Annotated[str | None, typer.Option("-m", "--reason", metavar="WHY", help="The reason, for people.")]
Children = Annotated[bool, typer.Option("--children", help="Cancel each live batch below it, too.")]
Expires = Annotated[str, typer.Option("--expires", metavar="TIME", help="After it, 1s to 7d.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; needed without a terminal.")]


@verb("add", writes=True)
def add(call: Invocation, batch: Batch, count: Count, ids: Ids = False, key: AddKey = None) -> None:
    """Add N items to BATCH and print their range; without --idempotency-key each run adds N."""
    if ids and call.output.as_json:
        raise UsageError("--ids and --json exclude each other; give one of them")
    answer = call.create(call.path(batch, "/items"), {"count": count}, documents.items_of, key)
    items = answer.value
    if ids:
        for item_id in items:
            call.output.line(item_id)
        return
    added = ItemRange(items.batch_id, items.group_id, 0, len(items) - 1)
    call.output.value(answer.document, str(added))


@verb("close", writes=True)
def close(call: Invocation, batch: Batch) -> None:
    """Close BATCH and print its state.

    Its total is final from then on.
    """
    answer = call.api.post(call.path(batch, "/close"), {}, call.key, documents.closed_of)
    call.output.value(answer.document, answer.value.state)


@verb("cancel", writes=True)
def cancel(
    call: Invocation, batch: Batch, why: Why = None, children: Children = False, yes: Yes = False
) -> None:
    """Cancel BATCH and print its state; asks first.

    Later acks do not count. A batch that has ended otherwise is refused. With --children, standard error says
    how many are below it.
    """
    batch_id = call.names.id_of(batch)
    below = _below(call, batch_id) if children else ""
    ask(call, batch_id, "Cancel", yes, f", with {below} below it" if below else "")
    body = documents.cancel_body(why, children)
    answer = call.api.post(call.path(batch_id, "/cancel"), body, call.key, documents.cancelled_of)
    call.output.value(answer.document, answer.value.state)
    note_reason(answer.value.reason, why)
    if below:
        note(f"with {below} below it")


def note_reason(kept: str | None, given: str | None) -> None:
    """Say on standard error that the reason *given* was not *kept*: the batch had ended so before."""
    if given and kept != given:
        note(f"it had ended so before, {f'with the reason {kept!r}' if kept else 'without a reason'}")


def _below(call: Invocation, batch_id: str) -> str:
    """Return how many live batches are below a batch, as text; from ``COUNTED`` on, that there are more."""
    waiting, found = [batch_id], 0
    while waiting and found < COUNTED:
        path = call.path(waiting.pop(), "/children")
        for page in call.api.pages(path, documents.summaries_of):
            live = [child.batch_id for child in page.value.batches if child.state in ALIVE]
            waiting += live
            found += len(live)
    more = "more than " if waiting else ""
    later = f" (those beyond {CANCELS_A_REQUEST} by the next sweeps)" if found > CANCELS_A_REQUEST else ""
    return f"{more}{found:,} live {'batch' if found == 1 else 'batches'}{later}"


@verb("notify", writes=True)
def notify(call: Invocation, batch: Batch) -> None:
    """Send the ending event of BATCH again; print its id."""
    answer = call.api.post(call.path(batch, "/notify"), {}, call.key, documents.event_id_of)
    call.output.value(answer.document, answer.value)


@verb("token", writes=True)
def token(call: Invocation, batch: Batch, expires: Expires = "1h") -> None:
    """Print a progress token of BATCH.

    Its holder can read the progress until it expires, at /v1/progress?token=TOKEN.
    """
    body = {"expiresSeconds": int(duration(expires).total_seconds())}
    answer = call.api.post(call.path(batch, "/token"), body, call.key, documents.token_of)
    call.output.value(answer.document, answer.value)


def ask(call: Invocation, batch_id: str, action: str, yes: bool, more: str = "") -> None:
    """Ask before the *action* on the batch, unless *yes*; raise Refused if the answer is no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{action.lower()} asks on a terminal, and there is none; give --yes")
    found = call.api.get(call.path(batch_id), documents.status_of).value
    if not typer.confirm(_question(found, action, more, call.site.host), err=True):
        raise Refused(f"batch {batch_id} is as it was")


def _question(batch: Summary, action: str, more: str, host: str) -> str:
    name = f"{batch.user_key} ({batch.batch_id})" if batch.user_key else batch.batch_id
    return clean(f"{action} {name}, {batch.state}, {batch.total:,} items{more}, at {host}?")
