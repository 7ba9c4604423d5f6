"""The links of the pages: each names a file of the tree, and a heading that the file has."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of the page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def local_links() -> list[tuple[str, str]]:
    links = ((page, link) for page in PAGES for link in LINK.findall(page.read_text()))
    return sorted((str(page.relative_to(ROOT)), link) for page, link in links if "://" not in link)


def leads_somewhere(page: str, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (ROOT / page).parent / name if name else ROOT / page
    return target.exists() and (not anchor or anchor in anchors(target))


def test_each_link_leads_somewhere():
    assert [each for each in sorted(set(local_links())) if not leads_somewhere(*each)] == []


def test_each_test_that_a_page_names_is_there():
    named = {name for page in PAGES for name in re.findall(r"`((?:tests|lab)/[\w/]+\.py)`", page.read_text())}

    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_links_of_the_pages_are_read():
    assert len(local_links()) >= 30
