"""The options of a batch on the command line: their types and bounds, and how each is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from fanin.arguments import duration
from fanin.cli.arguments.items import STDIN, item_range
from fanin.cli.terminal.exits import UsageError
from fanin.cli.verbs import Invocation
from fanin.client.argument_checks.opening import NAMES, OpenOptions, spec_of
from fanin.errors import InvalidRequest
from fanin.tracker import TOTAL_MAX, OpenBatch, Retention
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

TOKENS = ("task_token", "durable_callback_id")


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


def parameters(names: Iterable[str]) -> dict[str, tuple[Any, Any]]:
    """Return the annotations and defaults of the options *names*, by their names in the client."""
    found: dict[str, tuple[Any, Any]] = {}
    for option in map(OPTIONS.__getitem__, names):
        if option.cli is not None:
            form, text = option.cli
            flag, _, metavar = form.partition(" ")
            kind, bounds = TYPES[type(option.kind)](option.kind)
            default = option.default if isinstance(option.kind, Choice | Flag) else None
            shown = typer.Option(flag, metavar=metavar or None, help=text, **bounds)
            found[option.argument] = (Annotated[kind, shown], default)
    return found


def given_options(call: Invocation, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of those of *options* that are given. Raises UsageError, also if two do not fit."""
    given = {name: value for name, value in options.items() if value is not False}
    given = {name: value for name, value in given.items() if value not in (None, [], ())}
    if given["on_failures"] != "succeed" and given.keys().isdisjoint(TOKENS):
        raise UsageError(
            "--on-failures needs --task-token-file or --durable-callback-id-file: it is the end of what waits"
        )
    if given["parent_fails_on"] != "failed" and "parent" not in given:
        raise UsageError("--parent-fails-on needs --parent: it is about that item")
    return {name: _read(call, name, value) for name, value in given.items()}


def checked(user_key: str | None, options: Mapping[str, Any]) -> OpenBatch:
    """Return the batch that *options* ask for. Raises UsageError for options that do not fit."""
    try:
        return spec_of(user_key, cast("OpenOptions", options))
    except InvalidRequest as error:
        raise UsageError(str(error)) from None


def _labels(_call: Invocation, texts: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition(":")
        if not sign:
            raise UsageError(f"{text!r} has no ':': write --label KEY:VALUE")
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


def _thresholds(_call: Invocation, texts: list[str]) -> list[str]:
    if unknown := set(texts).difference(ONCE):
        raise UsageError(f"--notify-at is one of {', '.join(ONCE)}, not {min(unknown)!r}")
    return texts


def _token(_call: Invocation, file: Path) -> str:
    """Return the token that *file* holds; an option would be shown to all users of the machine."""
    try:
        return (sys.stdin.read() if str(file) == STDIN else file.read_text()).strip()
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}; give the file with the token, or -"
        ) from None


READERS: Mapping[type[Kind], Callable[[Invocation, Any], Any]] = {
    Duration: lambda _, text: duration(text),
    ItemName: _item,
    Labels: _labels,
    Several: _thresholds,
    Stages: lambda _, texts: Retention.of_texts(texts),
    Secret: _token,
}
"""How an option is read, by its kind, if it is not as it is given."""


def _read(call: Invocation, argument: str, given: Any) -> Any:
    reader = READERS.get(type(OPTIONS[NAMES[argument]].kind))
    try:
        return given if reader is None else reader(call, given)
    except InvalidRequest as error:
        raise UsageError(str(error)) from None
