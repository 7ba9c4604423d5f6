"""The verb open, whose options are those of a batch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from fanin.cli.arguments.items import STDIN, item_range
from fanin.cli.arguments.options import Key
from fanin.cli.terminal.durations import duration
from fanin.cli.terminal.exits import UsageError
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.checks.opening import OpenOptions, spec_of
from fanin.client.wire import documents
from fanin.client.wire.documents import Document
from fanin.errors import InvalidRequest
from fanin.tracker import Retention
from fanin.tracker.rules.threshold_options import ONCE

verb = Verbs()

STAGES = ("open", "closed", "complete")
UserKey = Annotated[str | None, typer.Argument(metavar="KEY", help="Your name for the batch.")]
Deadline = Annotated[
    str | None,
    typer.Option("--deadline", metavar="TIME", help="The time after which it times out: 90s, 6h, 1d12h."),
]
Expected = Annotated[
    int | None,
    typer.Option(
        "--expected", metavar="N", min=0, help="Refuse a close before N items are added; more are accepted."
    ),
]
MaxFailures = Annotated[
    int | None, typer.Option("--max-failures", metavar="N", min=1, help="End it at N failed items.")
]
MaxFailurePercent = Annotated[
    int | None,
    typer.Option("--max-failure-percent", metavar="N", min=1, max=100, help="End it at N % failed items."),
]
Parent = Annotated[
    str | None,
    typer.Option("--parent", metavar="ITEM", help="The item of a batch that it acks when it ends."),
]
Labels = Annotated[
    list[str] | None, typer.Option("--label", metavar="KEY:VALUE", help="A label; repeatable.")
]
Mode = Annotated[
    Literal["exact", "estimated"],
    typer.Option("--mode", metavar="MODE", help="exact: a bit for each item; estimated: counters."),
]
Kept = Annotated[
    list[str] | None,
    typer.Option(
        "--retention",
        metavar="STATE=TIME",
        help="How long it is kept while open, closed, complete; repeatable.",
    ),
]
CallbackName = Annotated[
    str | None, typer.Option("--callback", metavar="NAME", help="The callback that gets its events.")
]
NotifyAt = Annotated[
    list[str] | None,
    typer.Option("--notify-at", metavar="WHEN", help="Send an event at firstFailure, 50%, 90%; repeatable."),
]
StuckAfter = Annotated[
    str | None,
    typer.Option("--stuck-after", metavar="TIME", help="Send an event if no ack comes for so long."),
]
TaskToken = Annotated[
    Path | None,
    typer.Option(
        "--task-token-file", metavar="FILE", help="The file with a task token; - is standard input."
    ),
]
OnFailures = Annotated[
    Literal["succeed", "fail"],
    typer.Option(
        "--on-failures", metavar="END", help="succeed or fail: the end of that task if items failed."
    ),
]


OPTIONS: dict[str, tuple[Any, Any]] = {
    "deadline": (Deadline, None),
    "expected_items": (Expected, None),
    "max_failures": (MaxFailures, None),
    "max_failure_percent": (MaxFailurePercent, None),
    "parent": (Parent, None),
    "labels": (Labels, None),
    "mode": (Mode, "exact"),
    "retention": (Kept, None),
    "callback": (CallbackName, None),
    "notify_at": (NotifyAt, None),
    "stuck_after": (StuckAfter, None),
    "task_token": (TaskToken, None),
    "on_failures": (OnFailures, "succeed"),
}
"""The options, by the names that they have in the client, with their defaults."""


@verb("open", writes=True, options=OPTIONS)
def open_(call: Invocation, user_key: UserKey = None, key: Key = None, **options: Any) -> None:
    """Open a batch and print its id."""
    given = {name: value for name, value in options.items() if value not in (None, [], ())}
    if given["on_failures"] != "succeed" and "task_token" not in given:
        raise UsageError("--on-failures needs --task-token-file: it is the end of that task")
    values = {name: READERS[name](call, value) if name in READERS else value for name, value in given.items()}
    answer = call.create("/v1/batches", _body(user_key, values), documents.batch_id_of, key)
    call.output.value(answer.document, answer.value)


def _body(user_key: str | None, options: Mapping[str, Any]) -> Document:
    """Return the body of the request. Raises UsageError for options that do not fit."""
    try:
        return documents.open_body(spec_of(user_key, cast("OpenOptions", options)))
    except InvalidRequest as error:
        raise UsageError(str(error)) from None


def _time(_call: Invocation, text: str) -> timedelta:
    return duration(text)


def _labels(_call: Invocation, texts: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in _pairs(texts, ":", "--label KEY:VALUE"):
        if name in found:
            raise UsageError(f"--label {name!r} is given twice: a label has one value")
        found[name] = value
    return found


def _item(call: Invocation, text: str) -> str:
    """Return the id of the one item that *text* names."""
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


def _thresholds(_call: Invocation, texts: list[str]) -> list[str]:
    if unknown := set(texts).difference(ONCE):
        raise UsageError(f"--notify-at is one of {', '.join(ONCE)}, not {min(unknown)!r}")
    return texts


def _retention(_call: Invocation, texts: Iterable[str]) -> Retention:
    """Return the retention: the default of the stages that are not given."""
    given = {stage: duration(text) for stage, text in _pairs(texts, "=", "--retention STATE=TIME")}
    if unknown := given.keys() - set(STAGES):
        raise UsageError(f"--retention takes {', '.join(STAGES)}, not {min(unknown)}")
    try:
        return Retention(**given)
    except InvalidRequest as error:
        raise UsageError(str(error)) from None


def _token(_call: Invocation, file: Path) -> str:
    """Return the task token that *file* holds; an option would be shown to all users of the machine."""
    try:
        return (sys.stdin.read() if str(file) == STDIN else file.read_text()).strip()
    except OSError as error:
        raise UsageError(
            f"--task-token-file {file} cannot be read: {error.strerror}; give the file with the token, or -"
        ) from None


READERS: dict[str, Callable[[Invocation, Any], Any]] = {
    "deadline": _time,
    "parent": _item,
    "labels": _labels,
    "notify_at": _thresholds,
    "retention": _retention,
    "stuck_after": _time,
    "task_token": _token,
}
"""How an option is read, if it is not as it is given."""
