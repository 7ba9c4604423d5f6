"""Writes kept results into the pages of docs/performance: ``python -m lab.pages.page NAME ...``, or all.

A page is written by hand but for these places, each of which it has once (a figure as often as it likes):

| place | what is put there |
|---|---|
| ``<!-- table: NAME -->`` to ``<!-- end -->`` | a table of the result, if the page has this place |
| ``<!-- table: NAME; without: A; B -->`` | the same without the columns A and B |
| ``<!-- table: NAME; rows: A; B -->`` | the same, only the rows that begin with A or B |
| ``<!-- plot: NAME -->`` to ``<!-- end -->`` | a plot, drawn into a file beside the page |
| ``<!-- targets -->`` to ``<!-- end -->`` | how many targets are met, and those that are not |
| ``<!-- run -->`` to ``<!-- end -->`` | what printed the result, when and where |
| ``<!-- figure: NAME -->1.00<!-- end -->`` | a figure, within a sentence |
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from lab.pages.plots import digest, draw, drawn
from lab.pages.results import Result, Table, Target, kept, names
from lab.pages.revision import ROOT
from lab.pages.tables import placed, table

FOLDER = ROOT / "docs" / "performance"
FIGURE = re.compile(r"(<!-- figure: ([\w-]+) -->)[^\n<]*(<!-- end -->)")
TABLE = re.compile(r"<!-- (table: ([\w-]+)((?:; [^>]+?)?)) -->")
TARGETS_PLACE = "<!-- targets -->"
TARGETS = ("not met", "target", "measured", "why")


def rendered(page: str, result: Result) -> str:
    """Return *page* with all that *result* has."""
    for marker, name, wanted in TABLE.findall(page):
        chosen = selected(result.tables[name], wanted)
        page = placed(page, marker, table(chosen.columns, chosen.rows))
    for name, plot in result.plots.items():
        page = placed(page, f"plot: {name}", f"![{plot.title}]({picture(result, name).name})")
    if TARGETS_PLACE in page or not all(each.is_met for each in result.targets):
        page = placed(page, "targets", missed(result.targets))
    page = placed(page, "run", ran(result))
    return FIGURE.sub(lambda found: f"{found[1]}{result.figures[found[2]]}{found[3]}", page)


def selected(found: Table, wanted: str) -> Table:
    """Return the columns and rows that a marker names after its table, or raise ValueError."""
    without = _named(wanted, "without")
    begins = _named(wanted, "rows")
    there = [each for each in begins if any(row[0].startswith(each) for row in found.rows)]
    if unknown := {*without, *begins} - {*found.columns, *there}:
        raise ValueError(f"the table has no {', '.join(sorted(unknown))}")
    columns = [at for at, name in enumerate(found.columns) if name not in without]
    rows = [row for row in found.rows if row[0].startswith(tuple(begins) or "")]
    return Table([found.columns[at] for at in columns], [[row[at] for at in columns] for row in rows])


def _named(wanted: str, what: str) -> list[str]:
    """Return the names after ``; what: ``, up to the next one of these."""
    found = re.search(rf"; {what}: (.+?)(?=; (?:without|rows): |$)", wanted)
    return found[1].split("; ") if found else []


def missed(targets: Sequence[Target]) -> str:
    """Return how many targets are met, and a table of the others."""
    rows = [(each.what, each.target, each.measured, each.reason) for each in targets if not each.is_met]
    met = f"{len(targets) - len(rows)} of {len(targets)} targets are met."
    return f"{met}\n\n{table(TARGETS, rows)}" if rows else met


def ran(result: Result) -> str:
    """Return what printed a result, when, on what."""
    on = ", ".join([result.machine, *(f"{name} {version}" for name, version in result.versions.items())])
    at = f" at `{result.commit}`" if result.commit else ""
    return f"`{result.command}`, {result.date}{at}: {on}"


def picture(result: Result, name: str) -> Path:
    """Return the file of a plot."""
    return FOLDER / f"{result.name}-{name}.svg"


def write(chosen: Sequence[str]) -> list[Path]:
    """Write the pages of the results *chosen*, and their plots; return what was written."""
    results = [result for name in chosen if (result := kept(name))]
    pages = {FOLDER / f"{each.name}.md": each for each in results}
    for path, result in pages.items():
        path.write_text(rendered(path.read_text(), result))
    pictures = {picture(each, name): plot for each in results for name, plot in each.plots.items()}
    for path, plot in pictures.items():
        if drawn(path) != digest(plot):
            draw(plot, path)
    return [*pages, *pictures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="results (default: all)")
    for path in write(parser.parse_args().names or names()):
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
