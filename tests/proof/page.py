"""Writes the kept results into docs/proof.md: ``python -m tests.proof.page``.

The page is written by hand but for what stands between ``<!-- result: SECTION -->`` and ``<!-- end -->``. A
section without a result keeps what the page has.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from lab.pages.tables import placed, table
from tests.proof.results import ROOT, SECTIONS, Result, kept

PAGE = ROOT / "docs" / "proof.md"


def rendered(page: str) -> str:
    """Return *page* with the kept result of each section between its markers."""
    for section in SECTIONS:
        if result := kept(section):
            page = placed(page, f"result: {section}", shown(result))
    return page


def shown(result: Result) -> str:
    """Return a result as Markdown: its table, its note, and what wrote it when."""
    parts = [table(result.columns, result.rows)]
    parts += [result.note] if result.note else []
    at = f" at `{result.commit}`" if result.commit else ""
    parts.append(f"`{result.command}`, {result.date}{at}")
    return "\n\n".join(parts)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page anew."""
    argparse.ArgumentParser(prog="python -m tests.proof.page", description=__doc__).parse_args(argv)
    PAGE.write_text(rendered(PAGE.read_text()))
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
