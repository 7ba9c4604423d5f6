"""Prints a list of the API: the first rows of it, or all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Annotated

import typer

from fanin.cli.terminal.output import Column, note
from fanin.cli.verbs import Invocation
from fanin.client.http_bodies.codec import Document

Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many rows.")]
Every = Annotated[bool, typer.Option("--all", help="All rows, however many.")]


def print_list(
    call: Invocation,
    columns: Sequence[Column],
    path: str,
    name: str,
    limit: int | None,
    completed: Callable[[Document], Document] | None = None,
    /,
    **query: str | None,
) -> None:
    """Print the rows *name* of the list at *path*, at most *limit*; *query*: its parameters.

    *completed*: adds to a row what the list does not have of it.
    """
    rows = _rows(call, path, name, query)
    shown = islice(rows, limit)
    call.output.table(columns, map(completed, shown) if completed else shown)
    if limit is not None and call.output.on_terminal and next(rows, None) is not None:
        note("there are more: --all, or --limit")


def _rows(call: Invocation, path: str, name: str, query: dict[str, str | None]) -> Iterator[Document]:
    for page in call.api.pages(path, itemgetter(name), **query):
        yield from page.value
