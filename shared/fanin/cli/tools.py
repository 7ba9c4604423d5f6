"""The verbs as tools of programs: what each takes as a JSON schema, and the command line of a call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from typer.models import ArgumentInfo, CommandInfo, OptionInfo

from fanin.cli.verbs import WHERE
from fanin.errors import InvalidRequest

SCREENS = ("dashboard", "watch")
"""Verbs of people at a terminal."""
COMMON = {*WHERE, "as_json", "ids"}
"""Options of all verbs, and one that excludes --json, with which a tool runs its verb."""
TYPES: Mapping[Any, str] = {int: "integer", float: "number", bool: "boolean"}
CONFIRMATION = "Must be true: nothing else confirms it."
_SENTENCE = re.compile(r"(?<=\.)\s+")
_AT_TERMINAL = re.compile(r"\b(terminal|standard error|exits|fanin|printed)\b", re.IGNORECASE)
_PARTS = re.compile(
    r"; (asks first|print nothing|exit code 3|repeatable|- is standard input)|, or - for such lines on stdin"
)
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")
_HELP = re.compile(r"(; s| S)ee fanin [\w ]*--help")


def tool_text(text: str) -> str:
    """Return a text of the help for a program: options as arguments, and without what is about a terminal."""
    sentences = _SENTENCE.split(" ".join(text.split()))
    text = _PARTS.sub("", " ".join(each for each in sentences if not _AT_TERMINAL.search(each)))
    text = re.sub(r"\bPrint\b", "Return", re.sub(r"\bprint\b", "return", text))
    return _OPTION.sub(lambda found: found[1].replace("-", "_"), text)


def tool_error(text: str) -> str:
    """Return the sentence of an error without the way to the help of a terminal."""
    return _HELP.sub("", text)


@dataclass(frozen=True, slots=True)
class Given:
    """An argument or an option of a verb, by the *name* of its option; *kind*: the type of its value."""

    name: str
    option: str
    kind: Any
    info: ArgumentInfo | OptionInfo
    is_required: bool

    @property
    def schema(self) -> dict[str, Any]:
        several = get_origin(self.kind) is list
        one = get_args(self.kind)[0] if several else self.kind
        found: dict[str, Any] = {"type": TYPES.get(one, "string")}
        if get_origin(one) is Literal:
            found["enum"] = list(get_args(one))
        return ({"type": "array", "items": found} if several else found) | {"description": self.about}

    @property
    def about(self) -> str:
        """What it is, and the form of its value if that has parts."""
        form = self.info.metavar or ""
        text = CONFIRMATION if self.name == "yes" else tool_text(self.info.help or "")
        return f"{text} As {form}." if re.search("[:=]", form) else text

    def written(self, value: Any) -> list[str]:
        """Return the texts of *value* on a command line; none for a flag that is off."""
        texts = [str(each) for each in value] if isinstance(value, list) else [str(value)]
        if isinstance(self.info, ArgumentInfo):
            return texts
        on, _, off = self.option.partition("/")
        if isinstance(value, bool):
            return [on] if value else [off] if off else []
        return [f"{on}={text}" for text in texts]


@dataclass(frozen=True)
class VerbTool:
    """A verb as a tool. *writes*: it changes something."""

    name: str
    command: Callable[..., Any]
    writes: bool

    @property
    def about(self) -> str:
        return tool_text(inspect.getdoc(self.command) or "")

    @cached_property
    def given(self) -> Mapping[str, Given]:
        """What the verb takes beside the options of all verbs, by name."""
        known = inspect.signature(self.command).parameters
        given = [_given(each) for name, each in known.items() if name not in COMMON]
        return {each.name: each for each in given}

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments, each with the text of the verb's help."""
        return {
            "type": "object",
            "properties": {name: each.schema for name, each in self.given.items()},
            "required": [name for name, each in self.given.items() if each.is_required],
            "additionalProperties": False,
        }

    def arguments(self, values: Mapping[str, Any]) -> list[str]:
        """Return what follows the verb in a command line.

        Raises InvalidRequest for an argument that is unknown or missing.
        """
        if unknown := sorted(set(values) - set(self.given)):
            known = ", ".join(self.given) or "no argument"
            raise InvalidRequest(f"{self.name} takes {known}, not {unknown[0]!r}", field=unknown[0])
        for name, each in self.given.items():
            if each.is_required and values.get(name) is None:
                raise InvalidRequest(f"{self.name} needs {name}", field=name)
        options: list[str] = []
        positional: list[str] = []
        for name, each in self.given.items():
            if values.get(name) is not None:
                part = positional if isinstance(each.info, ArgumentInfo) else options
                part += each.written(values[name])
        return [*options, "--", *positional]


def tools_of(commands: Iterable[CommandInfo], *, writes: bool) -> dict[str, VerbTool]:
    """Return the tools of the verbs among *commands*; with *writes* also of those that change something."""
    found: dict[str, VerbTool] = {}
    for info in commands:
        is_writing = getattr(info.callback, "writes", None)  # None: no verb of the API
        if info.name and info.callback and info.name not in SCREENS and is_writing in (False, writes):
            found[info.name] = VerbTool(info.name, info.callback, is_writing)
    return found


def _given(parameter: inspect.Parameter) -> Given:
    annotated, info = get_args(parameter.annotation)[:2]
    kinds = get_args(annotated) if get_origin(annotated) in (Union, UnionType) else (annotated,)
    kind = next(each for each in kinds if each is not NoneType)
    # In an annotation, typer has the first name of an option where a default stands elsewhere.
    named = [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str)]
    option = named[-1] if named else f"--{parameter.name.replace('_', '-')}"
    name = parameter.name
    if isinstance(info, OptionInfo):
        name = option.partition("/")[0].removeprefix("--").replace("-", "_")
    return Given(name, option, kind, info, parameter.default is inspect.Parameter.empty)
