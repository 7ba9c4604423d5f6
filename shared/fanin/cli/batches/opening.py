"""The verb open, whose options are those of a batch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from fanin.cli.arguments.items import STDIN, item_range
from fanin.cli.arguments.options import Key
from fanin.cli.terminal.durations import duration
from fanin.cli.terminal.exits import Refused, UsageError
from fanin.cli.verbs import Invocation, Verbs
from fanin.client.checks.opening import NAMES, OpenOptions, spec_of
from fanin.client.model import Summary
from fanin.client.wire import documents
from fanin.client.wire.codec import Document
from fanin.errors import InvalidRequest
from fanin.tracker import TOTAL_MAX, Retention
from fanin.tracker.rules.option_kinds import (
    Choice,
    Dollars,
    Duration,
    Flag,
    ItemName,
    Kind,
    Labels,
    Secret,
    Several,
    Stages,
    Text,
    Whole,
)
from fanin.tracker.rules.options import ONCE, OPTIONS

verb = Verbs()

STAGES = ("open", "closed", "complete")
TOKENS = ("task_token", "durable_callback_id")
UserKey = Annotated[str | None, typer.Argument(metavar="KEY", help="Your name for the batch.")]
Again = Annotated[bool, typer.Option("--again", help="Also if KEY names a live batch.")]


def _whole(kind: Whole) -> Any:
    return int | None, {"min": kind.least, "max": kind.most if kind.most < TOTAL_MAX else None}


def _one_of(kind: Choice) -> Any:
    literal: Any = Literal
    return literal[tuple(map(str, kind.of))], {}


TYPES: Mapping[type[Kind], Callable[[Any], Any]] = {
    Whole: _whole,
    Choice: _one_of,
    Dollars: lambda kind: (float | None, {"min": kind.least, "max": kind.most}),
    Secret: lambda _: (Path | None, {}),
    Flag: lambda _: (bool, {}),
    **dict.fromkeys((Text, ItemName, Duration), lambda _: (str | None, {})),
    **dict.fromkeys((Labels, Several, Stages), lambda _: (list[str] | None, {})),
}
"""The type of an option on the command line, and its bounds, by its kind."""


def _options() -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield the options by the names that they have in the client: their annotations and defaults."""
    for option in OPTIONS.values():
        if option.cli is not None:
            form, text = option.cli
            flag, _, metavar = form.partition(" ")
            kind, bounds = TYPES[type(option.kind)](option.kind)
            default = option.default if isinstance(option.kind, Choice | Flag) else None
            yield (
                option.argument,
                (Annotated[kind, typer.Option(flag, metavar=metavar or None, help=text, **bounds)], default),
            )


@verb("open", writes=True, options=dict(_options()))
def open_(
    call: Invocation, user_key: UserKey = None, again: Again = False, key: Key = None, **options: Any
) -> None:
    """Open a batch and print its id.

    A KEY that names a live batch is refused, unless --again or --idempotency-key is given.
    """
    given = {name: value for name, value in options.items() if value is not False}
    given = {name: value for name, value in given.items() if value not in (None, [], ())}
    if given["on_failures"] != "succeed" and given.keys().isdisjoint(TOKENS):
        raise UsageError(
            "--on-failures needs --task-token-file or --durable-callback-id-file: it is the end of what waits"
        )
    if given["parent_fails_on"] != "failed" and "parent" not in given:
        raise UsageError("--parent-fails-on needs --parent: it is about that item")
    values = {name: _read(call, name, value) for name, value in given.items()}
    body = _body(user_key, values)
    if user_key and not again and key is None:
        _refuse_live(user_key, call.names.live(user_key))
    answer = call.create("/v1/batches", body, documents.batch_id_of, key)
    call.output.value(answer.document, answer.value)


def _refuse_live(user_key: str, live: Sequence[Summary]) -> None:
    """Raise Refused if *user_key* names *live* batches: by the key none of two could be chosen."""
    if live:
        found = ", ".join(f"{batch.batch_id} ({batch.state})" for batch in live)
        ended = f"end it (fanin close or cancel {live[0].batch_id})"
        raise Refused(
            f"{user_key!r} names a live batch already: {found}; go on with it, {ended}, or give --again"
        )


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
    """Return the token that *file* holds; an option would be shown to all users of the machine."""
    try:
        return (sys.stdin.read() if str(file) == STDIN else file.read_text()).strip()
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}; give the file with the token, or -"
        ) from None


READERS: Mapping[type[Kind], Callable[[Invocation, Any], Any]] = {
    Duration: _time,
    ItemName: _item,
    Labels: _labels,
    Several: _thresholds,
    Stages: _retention,
    Secret: _token,
}
"""How an option is read, by its kind, if it is not as it is given."""


def _read(call: Invocation, argument: str, given: Any) -> Any:
    reader = READERS.get(type(OPTIONS[NAMES[argument]].kind))
    return given if reader is None else reader(call, given)
