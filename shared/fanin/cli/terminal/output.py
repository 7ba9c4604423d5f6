"""What a command prints: tables on a terminal, tab-separated lines elsewhere, or the API's documents.

In a pipe nothing is cut, and no line has an escape sequence. Progress and hosts are on standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, TextIO

from fanin.client.http_bodies.codec import Document

if TYPE_CHECKING:
    from rich.table import Table

TABLE_ROWS = 200
"""Rows of one table on a terminal, so that a long list is printed while it is read."""
PROGRESS_SECONDS = 0.5
LINE_SECONDS = 10.0
"""The time between two lines of progress where no terminal is."""
AS_TOOL = "_FANIN_AS_TOOL"
"""The variable of a run whose standard error is part of a tool's answer: it shows no progress."""
GAP = 2
"""Columns of a terminal between those of a table."""
Side = Literal["left", "right"]
_DIRECTIONS = (*range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Separators of lines, and what reverses or isolates the text beside a cell."""
_IN_JSON = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *_DIRECTIONS)}
_CONTROLS = (
    _IN_JSON
    | {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
    | {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
)


def clean(text: str) -> str:
    r"""Return *text* with its control characters as escapes such as ``\t``: one cell, and no sequence."""
    return text.translate(_CONTROLS)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, or a field of a card.

    *of*: the name of a document's field, or a function of the document that returns the whole cell; *shown*:
    the cell on a terminal, if it differs. *right*: aligned so. *hidden*: not on a terminal. *name*: of the
    field of a card in a pipe, if *of* is a function.
    """

    title: str
    of: str | Callable[[Document], Any]
    shown: Callable[[Document], Any] | None = None
    right: bool = False
    hidden: bool = False
    name: str = ""

    @property
    def key(self) -> str:
        """The name of a card's field in a pipe."""
        return self.name or (self.of if isinstance(self.of, str) else self.title.lower())

    def cell(self, document: Document, on_terminal: bool = False) -> str:
        """Return the cell as text; None is empty, and a bool is as in JSON."""
        value = self.shown(document) if on_terminal and self.shown else self._whole(document)
        if value is None or isinstance(value, bool):
            return "" if value is None else str(value).lower()
        return clean(str(value))

    def _whole(self, document: Document) -> Any:
        return document.get(self.of) if isinstance(self.of, str) else self.of(document)


class Output:
    """The standard output of a command. *as_json*: documents in place of tables and texts."""

    def __init__(self, as_json: bool = False, stream: TextIO | None = None) -> None:
        self.as_json = as_json
        self._stream = sys.stdout if stream is None else stream

    @property
    def on_terminal(self) -> bool:
        """Whether people read it: a terminal, and no JSON."""
        return not self.as_json and self._stream.isatty()

    def value(self, document: Document, text: str) -> None:
        """Print one result: *text*, or with --json the *document*."""
        self.line(dumped(document) if self.as_json else clean(text))

    def line(self, text: str) -> None:
        """Print *text* as a line."""
        self._stream.write(f"{text}\n")

    def values(self, pairs: Iterable[tuple[Document, str]]) -> None:
        """Print a stream of results, a line each."""
        for document, text in pairs:
            self.value(document, text)

    def table(self, columns: Sequence[Column], documents: Iterable[Document]) -> None:
        """Print *documents* as rows, while they are read."""
        if self.on_terminal:
            self._tables(columns, iter(documents))
            return
        for document in documents:
            row = "\t".join(column.cell(document) for column in columns)
            self.line(dumped(document) if self.as_json else row)

    def card(self, fields: Sequence[Column], document: Document) -> None:
        """Print the fields of one document, a line each; on a terminal without the empty ones."""
        if self.as_json:
            self.line(dumped(document))
            return
        if not self.on_terminal:
            for field in fields:
                self.line(f"{field.key}\t{field.cell(document)}")
            return
        cells = [(field.title, field.cell(document, True)) for field in fields if not field.hidden]
        width = max(len(title) for title, _ in cells)
        for title, cell in cells:
            if cell:
                self.line(f"{title:<{width}}  {cell}")

    def _tables(self, columns: Sequence[Column], documents: Iterator[Document]) -> None:
        from rich.console import Console  # noqa: PLC0415  # rich takes 0.1 s, and a pipe needs none

        shown = [column for column in columns if not column.hidden]
        console = Console(file=self._stream, highlight=False)
        first = next(documents, None)
        if first is None:
            note("none")
            return
        documents = chain([first], documents)
        while rows := list(islice(documents, TABLE_ROWS)):
            cells = [[column.cell(row, on_terminal=True) for column in shown] for row in rows]
            if _width(shown, cells) <= console.width:
                console.print(_table(shown, cells))
            else:
                self._stream.write("".join(f"{line}\n" for line in _stacked(shown, cells, console.width)))


def _table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Table:
    from rich.table import Table  # noqa: PLC0415  # see _tables
    from rich.text import Text  # noqa: PLC0415  # a pipe needs none

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    for column in columns:
        side: Side = "right" if column.right else "left"
        table.add_column(column.title, justify=side, no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _width(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    """Return how many columns of a terminal a table takes."""
    from rich.cells import cell_len  # noqa: PLC0415  # see _tables

    titles = [column.title for column in columns]
    return sum(max(map(cell_len, each)) + GAP for each in zip(titles, *rows, strict=True)) - GAP


def _stacked(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int) -> Iterator[str]:
    """Yield the lines of a table that is too wide: of each row the first cell, and below it the others.

    An id that is broken over lines could not be copied, and a cell of one character a line not be read.
    """
    for first, *others in rows:
        yield first
        cells = zip(columns[1:], others, strict=True)
        line = ""
        for pair in (f"{column.title.lower()} {cell}".strip() for column, cell in cells if cell):
            if line and len(line) + len(pair) + 2 * GAP > width:
                yield f"{' ' * GAP}{line}"
                line = ""
            line += f"{', ' if line else ''}{pair}"
        if line:
            yield f"{' ' * GAP}{line}"


class Progress:
    """Progress on standard error: a line that changes on a terminal, elsewhere a line every 10 seconds."""

    def __init__(self, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._now = now
        self._is_off = AS_TOOL in os.environ
        self._on_terminal = self._stream.isatty()
        self._seconds = PROGRESS_SECONDS if self._on_terminal else LINE_SECONDS
        self._next = now() + self._seconds
        self._width = 0

    def show(self, text: str) -> None:
        """Replace the line, at most twice a second; where no terminal is, print one every 10 seconds."""
        if self._is_off or self._now() < self._next:
            return
        self._next = self._now() + self._seconds
        if self._on_terminal:
            self._write(text)
        else:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def clear(self) -> None:
        """Remove the line, before other output."""
        if self._width:
            self._write("")
            self._stream.write("\r")
            self._width = 0

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text:<{self._width}}")
        self._stream.flush()
        self._width = len(text)


def note(text: str) -> None:
    """Print a line for people on standard error."""
    sys.stderr.write(f"{clean(text)}\n")


def end_line() -> None:
    """End the line in which a terminal shows ^C."""
    if sys.stderr.isatty():
        sys.stderr.write("\n")


def clear_line() -> None:
    """Remove what `watch` has drawn of the line, before a note."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")


def dumped(document: Document) -> str:
    """Return *document* as one line of JSON, in which no character controls a terminal."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).translate(_IN_JSON)
