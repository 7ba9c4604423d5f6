"""Markdown of pages that are written from results: tables, and what stands between two comments. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

END = "<!-- end -->"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    head, *others = (f"| {' | '.join(_cell(cell) for cell in line)} |" for line in (columns, *rows))
    return "\n".join([head, f"|{'---|' * len(columns)}", *others])


def placed(page: str, marker: str, text: str) -> str:
    """Return *page* with *text* between ``<!-- marker -->`` and the next ``<!-- end -->``.

    Raise ValueError unless the page has this marker once.
    """
    between = re.compile(rf"(<!-- {re.escape(marker)} -->\n).*?({END})", re.DOTALL)
    written, places = between.subn(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page)
    if places != 1:
        raise ValueError(f"the page has {places} places for {marker!r}: write its markers once")
    return written


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")
