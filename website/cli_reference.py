"""Writes the verbs into docs/cli.md, from the commands: ``python -m website.cli_reference``."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

from typer.main import get_command

from fanin.cli.app import app
from fanin.cli.terminal.listing import Every, Limit
from fanin.cli.verbs import WHERE

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
MARKER = "<!-- Below, the page is made by: make cli-reference -->"
COMMON = {*WHERE, "as_json", "help"}
"""Options of every verb; the page describes them once, as it does those of lists and the arguments."""
OF_LISTS = {get_args(each)[1].help for each in (Limit, Every)}
OFTEN = 3
"""From so many verbs on, an option or argument with the same text is described once, too."""
ARGUMENTS = {"BATCH", "BATCH...", "ITEM..."}
OPENS = "fanin open"
"""The verb whose options of a batch others have, too: there they are named alone."""


def reference() -> str:
    """Return a section for each command."""
    lines = ["## Commands"]
    for path, command in commands():
        lines += _section(path, command)
    return "\n".join(lines) + "\n"


def commands() -> list[tuple[str, Any]]:
    """Return the commands by their paths."""
    return list(_commands(get_command(app), "fanin"))


@cache
def shared_texts() -> frozenset[str]:
    """Return the texts of options and arguments that ``OFTEN`` commands have."""
    texts = Counter(each.help for _, command in commands() for each in command.params if each.help)
    return frozenset(text for text, number in texts.items() if number >= OFTEN)


def page() -> str:
    """Return docs/cli.md, written anew."""
    return f"{PAGE.read_text().partition(MARKER)[0]}{MARKER}\n\n{reference()}"


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")
        elif not command.hidden:
            yield f"{path} {name}", command


def _usage(path: str, command: Any) -> str:
    given = [_argument(each) for each in command.params if each.param_type_name == "argument"]
    return " ".join([path, *given])


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).removesuffix("...")
    more = "..." if parameter.nargs == -1 else ""
    return f"{name}{more}" if parameter.required else f"[{name}]{more}"


def _paragraphs(command: Any) -> list[str]:
    text = inspect.cleandoc(command.help or "")
    return [" ".join(part.split()) for part in text.split("\n\n")]


def _section(path: str, command: Any) -> Iterator[str]:
    yield from ("", f"### `{_usage(path, command)}`")
    for paragraph in _paragraphs(command):
        yield from ("", paragraph)
    parameters = [each for each in command.params if not _is_described_above(each)]
    shared = [each for each in parameters if path != OPENS and each.help in _texts_of(OPENS)]
    rows = [_row(each) for each in parameters if len(shared) < OFTEN or each not in shared]
    if rows:
        yield from ("", *rows)
    if len(shared) >= OFTEN:
        names = ", ".join(f"`{each.opts[0]}`" for each in shared)
        yield f"- As of [`{OPENS}`](#fanin-open-key): {names}."


def _texts_of(path: str) -> set[str]:
    (command,) = (command for name, command in commands() if name == path)
    return {each.help for each in command.params if each.help}


def _is_described_above(parameter: Any) -> bool:
    if parameter.param_type_name == "argument":
        return _argument(parameter) in ARGUMENTS or parameter.help in shared_texts()
    return parameter.name in COMMON or parameter.help in OF_LISTS | shared_texts()


def _row(parameter: Any) -> str:
    is_argument = parameter.param_type_name == "argument"
    name = _argument(parameter) if is_argument else _options(parameter)
    if not is_argument and not parameter.is_flag:
        name = f"{name} {parameter.metavar or parameter.name.upper()}"
    default = parameter.default
    shown = "" if callable(default) or default in (None, False, (), []) else f" Default: {default}."
    if default is True:
        shown = f" Default: {parameter.opts[0]}."
    return f"- `{name}`: {(parameter.help or '').rstrip('.')}.{shown}"


def _options(parameter: Any) -> str:
    """Return the forms of an option; that which turns it off comes last."""
    return " / ".join(", ".join(each) for each in (parameter.opts, parameter.secondary_opts) if each)


if __name__ == "__main__":
    PAGE.write_text(page())
