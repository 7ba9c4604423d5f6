"""Builds HTML elements; all texts are escaped here. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

Cell = tuple[str, str]
"""A cell's class and its HTML."""


def tag(name: str, inside: str, kind: str = "") -> str:
    """Return an element around HTML."""
    attribute = f' class="{escape(kind)}"' if kind else ""
    return f"<{name}{attribute}>{inside}</{name}>"


def text(name: str, said: object, kind: str = "") -> str:
    """Return an element around a text."""
    return tag(name, escape(str(said)), kind)


def table(heads: Sequence[Cell], rows: Iterable[Sequence[Cell]]) -> str:
    """Return a table; heads are texts, cells are HTML."""
    head = "".join(text("th", said, kind) for kind, said in heads)
    body = "".join(tag("tr", "".join(tag("td", inside, kind) for kind, inside in row)) for row in rows)
    return tag("table", tag("thead", tag("tr", head)) + tag("tbody", body))


def facts(pairs: Iterable[tuple[str, str | None]]) -> str:
    """Return a list of names and texts; a pair without a text is left out."""
    return tag("dl", "".join(text("dt", name) + text("dd", said) for name, said in pairs if said is not None))


def number(said: str) -> Cell:
    """Return a cell with a number."""
    return "n", escape(said)


def cell(said: str, kind: str = "") -> Cell:
    """Return a cell with a text."""
    return kind, escape(said)
