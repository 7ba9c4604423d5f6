"""The verb open, whose options are those of a batch."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Unpack

import typer

from fanin.cli.arguments import Key
from fanin.cli.durations import duration
from fanin.cli.exits import UsageError
from fanin.cli.items import STDIN, item_range
from fanin.cli.verbs import Invocation, Verbs
from fanin.client import documents
from fanin.client.documents import Document
from fanin.client.opening import OpenOptions, spec_of
from fanin.errors import InvalidRequest
from fanin.tracker import Retention

verb = Verbs()

STAGES = ("open", "closed", "complete")
UserKey = Annotated[str | None, typer.Argument(metavar="KEY", help="Your name for the batch.")]
Deadline = Annotated[
    str | None,
    typer.Option("--deadline", metavar="TIME", help="It times out after it: 90s, 6h, 1d12h."),
]
Expected = Annotated[
    int | None,
    typer.Option("--expected", metavar="N", min=0, help="Close is refused before N are added."),
]
MaxFailures = Annotated[
    int | None, typer.Option("--max-failures", metavar="N", min=1, help="N failed items end it.")
]
MaxFailurePercent = Annotated[
    int | None,
    typer.Option("--max-failure-percent", metavar="N", min=1, max=100, help="N % failed items end it."),
]
Parent = Annotated[
    str | None, typer.Option("--parent", metavar="ITEM", help="An item of a batch; acked as this one ends.")
]
Labels = Annotated[
    list[str] | None, typer.Option("--label", metavar="KEY:VALUE", help="A label; may be given again.")
]
Mode = Annotated[
    Literal["exact", "estimated"], typer.Option("--mode", help="A bit for each item, or counters.")
]
Kept = Annotated[
    list[str] | None,
    typer.Option(
        "--retention",
        metavar="STATE=TIME",
        help="How long it is kept open, closed, complete; may be given again.",
    ),
]
Callback = Annotated[
    str | None,
    typer.Option("--callback", metavar="NAME", help="The callback that gets its events."),
]
NotifyAt = Annotated[
    list[str] | None,
    typer.Option(
        "--notify-at", metavar="WHEN", help="firstFailure, 50%, 90%: send an event; may be given again."
    ),
]
StuckAfter = Annotated[
    str | None,
    typer.Option("--stuck-after", metavar="TIME", help="Send an event if no ack comes."),
]
TaskToken = Annotated[
    Path | None,
    typer.Option("--task-token-file", metavar="FILE", help="Has a task token of Step Functions; - is stdin."),
]
OnFailures = Annotated[
    Literal["succeed", "fail"], typer.Option("--on-failures", help="How that task ends if items failed.")
]


@verb("open", writes=True)
def open_(
    call: Invocation,
    user_key: UserKey = None,
    deadline: Deadline = None,
    expected: Expected = None,
    max_failures: MaxFailures = None,
    max_failure_percent: MaxFailurePercent = None,
    parent: Parent = None,
    label: Labels = None,
    mode: Mode = "exact",
    retention: Kept = None,
    callback: Callback = None,
    notify_at: NotifyAt = None,
    stuck_after: StuckAfter = None,
    task_token: TaskToken = None,
    on_failures: OnFailures = "succeed",
    key: Key = None,
) -> None:
    """Open a batch and print its id."""
    body = _body(
        user_key,
        mode=mode,
        deadline=_time(deadline),
        expected_items=expected,
        max_failures=max_failures,
        max_failure_percent=max_failure_percent,
        parent=_item(call, parent),
        labels=dict(_pairs(label or (), ":", "--label KEY:VALUE")),
        retention=_retention(retention or ()),
        callback=callback,
        notify_at=notify_at or (),
        stuck_after=_time(stuck_after),
        task_token=_token(task_token),
        on_failures=on_failures,
    )
    answer = call.create("/v1/batches", body, documents.batch_id_of, key)
    call.output.value(answer.document, answer.value)


def _body(user_key: str | None, **options: Unpack[OpenOptions]) -> Document:
    """Return the body of the request. Raises UsageError for options that do not fit."""
    try:
        return documents.open_body(spec_of(user_key, options))
    except InvalidRequest as error:
        raise UsageError(str(error)) from None


def _time(text: str | None) -> timedelta | None:
    return None if text is None else duration(text)


def _item(call: Invocation, text: str | None) -> str | None:
    """Return the id of the one item that *text* names."""
    if text is None:
        return None
    found = item_range(text)
    if found.first != found.last:
        raise UsageError(f"--parent takes one item, and {text!r} is a range")
    return f"{call.names.id_of(found.batch)}:{found.group_id}:{found.first}"


def _pairs(texts: Iterable[str], sign: str, form: str) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, found, value = text.partition(sign)
        if not found:
            raise UsageError(f"{text!r} has no {sign!r}: write {form}")
        yield name, value


def _retention(texts: Iterable[str]) -> Retention:
    """Return the retention: the default of the stages that are not given."""
    given = {stage: duration(text) for stage, text in _pairs(texts, "=", "--retention STATE=TIME")}
    if unknown := given.keys() - set(STAGES):
        raise UsageError(f"--retention takes {', '.join(STAGES)}, not {min(unknown)}")
    try:
        return Retention(**given)
    except InvalidRequest as error:
        raise UsageError(str(error)) from None


def _token(file: Path | None) -> str | None:
    """Return the task token that *file* holds; an option would be shown to all users of the machine."""
    if file is None:
        return None
    return (sys.stdin.read() if str(file) == STDIN else file.read_text()).strip()
