"""The parser that every job's own options are added to, and the types of shared options.

The options of a batch come from the table of them, ``fanin.tracker.rules.options``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fanin.arguments import duration
from fanin.tracker.reads.window import WINDOW_MAX
from fanin.tracker.rules import option_kinds
from fanin.tracker.rules.options import OPTIONS, OpenBatch, Option, Retention


def job_parser(name: str, description: str | None, dry_run: str | None = None) -> argparse.ArgumentParser:
    """Return a parser for the job *name* with the options of every job.

    *description*: the text of ``--help``, the job's module docstring. *dry_run*: what ``--dry-run`` does;
    without it the job has no such option.
    """
    form = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(
        name, description=description, formatter_class=form, parents=[_every_job(dry_run)]
    )


def _every_job(dry_run: str | None) -> argparse.ArgumentParser:
    parent = argparse.ArgumentParser(add_help=False)
    add = parent.add_argument_group("options of every job").add_argument
    add("--cores", default="*", help="cores to use if no cluster runs the job (default: all)")
    add("--json", action="store_true", help="print events as JSON lines")
    if dry_run:
        add("--dry-run", action="store_true", help=dry_run)
    return parent


def cores_of(asked: str) -> int:
    """Return the number of cores that the option ``--cores`` asks for."""
    if asked != "*":
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def positive(text: str) -> float:
    """Return *text* as a number above 0, for a rate or a duration."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text}")
    return number


def chunk_size(text: str) -> int:
    """Return *text* as the number of rows of a message."""
    number = int(text)
    if not 1 <= number <= WINDOW_MAX:
        raise argparse.ArgumentTypeError(f"expected 1 to {WINDOW_MAX} rows, got {text}")
    return number


def _texts_of(kind: option_kinds.Several) -> dict[str, Any]:
    return {"action": "append", "choices": [str(each) for each in kind.choices]}


def _content(path: str) -> str:
    try:
        return (sys.stdin.read() if path == "-" else Path(path).read_text()).strip()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path} cannot be read: {error.strerror}") from None


PARSED: Mapping[type[option_kinds.Kind], Callable[[Any], dict[str, Any]]] = {
    option_kinds.Whole: lambda _: {"type": int},
    option_kinds.Dollars: lambda _: {"type": float},
    option_kinds.Flag: lambda _: {"action": "store_const", "const": True},
    option_kinds.Choice: lambda kind: {"choices": [str(each) for each in kind.of]},
    option_kinds.Several: _texts_of,
    option_kinds.Stages: lambda _: {"action": "append"},
    option_kinds.Secret: lambda _: {"type": _content},
}
"""How an option of a batch is parsed, by its kind; any other one is a text."""
READ: Mapping[type[option_kinds.Kind], Callable[[Any], Any]] = {
    option_kinds.Duration: duration,
    option_kinds.Stages: Retention.of_texts,
}
"""How an option is read, by its kind, if it is not as it is parsed."""


_FLAGS = {"--mode": "--batch-mode"}
"""Flags of options that Glue takes for itself: the jobs name them otherwise."""


def add_batch_options(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Add the options *names* of a batch to *parser*, as ``fanin open`` has them."""
    add = parser.add_argument_group("options of the batch").add_argument
    for option in _on_command_lines(names):
        form, text = option.cli or ("", "")
        flag, _, metavar = form.partition(" ")
        parsed = PARSED.get(type(option.kind), lambda _: {})(option.kind)
        parsed |= {"metavar": metavar} if metavar else {}
        add(_FLAGS.get(flag, flag), dest=option.argument, help=text.replace("%", "%%"), **parsed)


def batch_options(given: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the options that are given, as ``Fanin.open`` takes them. Raises InvalidRequest."""
    options = {option: getattr(given, option.argument) for option in _on_command_lines(names)}
    read = {
        option: READ.get(type(option.kind), lambda same: same)(value)
        for option, value in options.items()
        if value is not None
    }
    OpenBatch(**{option.name: value for option, value in read.items()})
    return {option.argument: value for option, value in read.items()}


def _on_command_lines(names: Iterable[str]) -> list[Option]:
    return [OPTIONS[name] for name in names if OPTIONS[name].cli is not None]
