"""Writes the kept results into docs/proof.md: ``python -m tests.proof.page``.

Its first table has a row for each section: its name and what is run, written by hand, the figures of the
last result, and what printed it when. A section without a result keeps what the page has.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from tests.proof.results import ROOT, SECTIONS, Result, kept

PAGE = ROOT / "docs" / "proof.md"
NUMBER = re.compile(r"[\d,]+")
REPEATED = ("expressions",)
"""Columns whose rows count the same things: they have no sum."""


def rendered(page: str) -> str:
    """Return *page* with the kept result of each section in its row."""
    for section in SECTIONS:
        if result := kept(section):
            page = placed(page, section, shown(result))
    return page


def placed(page: str, section: str, cells: str) -> str:
    """Return *page* with the last two *cells* of the row of *section*; raise ValueError unless it has one."""
    row = re.compile(rf"^(\| {section} \| [^|\n]+ \|)[^|\n]+\|[^|\n]+\|$", re.MULTILINE)
    written, rows = row.subn(lambda found: f"{found[1]} {cells} |", page)
    if rows != 1:
        raise ValueError(f"the page has {rows} rows of {section!r}: write its name and what is run")
    return written


def shown(result: Result) -> str:
    """Return the cells of a result: its figures, and what wrote it when."""
    at = f" at `{result.commit}`" if result.commit else ""
    return f"{figures(result)} | `{result.command}`, {result.date}{at}"


def figures(result: Result) -> str:
    """Return the sums of the columns that count; of a result without any, what differs in its rows."""
    sums = [
        f"{sum(map(_number, cells)):,} {column}"
        for column, *cells in list(zip(result.columns, *result.rows, strict=True))[1:]
        if column not in REPEATED and _counts(cells)
    ]
    if not sums:
        return "; ".join(dict.fromkeys(", ".join(filter(None, row[1:])) for row in result.rows))
    label = f"{result.rows[0][0]}: " if len(result.rows) == 1 else ""
    return label + ", ".join(sums)


def _counts(cells: Sequence[str]) -> bool:
    given = [cell for cell in cells if cell]
    return bool(given) and all(map(NUMBER.fullmatch, given))


def _number(cell: str) -> int:
    return int(cell.replace(",", "") or 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page anew."""
    argparse.ArgumentParser(prog="python -m tests.proof.page", description=__doc__).parse_args(argv)
    PAGE.write_text(rendered(PAGE.read_text()))
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
