"""Prints a list of the API: the first rows of it, or all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Annotated

import typer

from fanin.cli.terminal.output import Column, note
from fanin.cli.verbs import Invocation
from fanin.client.wire.codec import Document

Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many rows.")]
Every = Annotated[bool, typer.Option("--all", help="All rows, however many.")]


def print_list(
    call: Invocation, columns: Sequence[Column], path: str, name: str, limit: int | None, **query: str | None
) -> None:
    """Print the rows *name* of the list at *path*, at most *limit*; *query*: its parameters."""
    rows = _rows(call, path, name, query)
    call.output.table(columns, islice(rows, limit))
    if limit is not None and call.output.on_terminal and next(rows, None) is not None:
        note("there are more: --all, or --limit")


def _rows(call: Invocation, path: str, name: str, query: dict[str, str | None]) -> Iterator[Document]:
    for page in call.api.pages(path, itemgetter(name), **query):
        yield from page.value
