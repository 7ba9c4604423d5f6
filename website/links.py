"""Rewrite the links of pages, which are those of the source tree, to those of the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages outside of docs/: where the site has them."""
CLASSES = "python.md"
"""The index of the classes, by pages."""
ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)]+)\) \| (.*) \|$", re.MULTILINE)
BUILT = {"replay.html": "replay.html", "seed.html": "seed.md"}
"""What the build makes, and where links to it lead: a page names it as code."""


def for_site(text: str, folder: str, titles: Mapping[str, str]) -> str:
    """Return the Markdown *text* of a page in *folder* of the source tree, with links for the site.

    *titles*: those of the pages, by their path; a link whose text is the name of its page's file gets the
    title. A link to a file that the site does not have becomes its text. Code blocks stay as they are.
    """
    parts = FENCE.split(text)
    return "".join(part if at % 2 else _rewritten(part, folder, titles) for at, part in enumerate(parts))


def _rewritten(text: str, folder: str, titles: Mapping[str, str]) -> str:
    text = LINK.sub(lambda found: _link(found[1], found[2], found[3], folder, titles), text)
    for name, target in BUILT.items():
        text = text.replace(f"`{name}`", f"[`{name}`]({target})")
    return text


def _link(image: str, label: str, link: str, folder: str, titles: Mapping[str, str]) -> str:
    if "://" in link or link.startswith("#"):
        return f"{image}[{label}]({link})"
    name, _, anchor = link.partition("#")
    source = posixpath.normpath(posixpath.join(folder, name))
    if source in PAGES:
        target = f"docs/{PAGES[source]}"
    elif source.startswith("docs/"):
        target = source
    else:
        return label
    if label in {name, posixpath.basename(name)}:
        label = titles.get(source, label)
    start = "docs" if _is_top(folder) else folder
    relative = posixpath.relpath(target, start)
    return f"{image}[{label}]({relative}{'#' if anchor else ''}{anchor})"


def with_classes(text: str) -> str:
    """Return the index of the classes with links, under the anchors of the page that had them all."""

    def row(found: re.Match[str]) -> str:
        title, page, names = found.groups()
        package = "fanin.testing" if page.endswith("testing.md") else "fanin"
        links = re.sub(r"`(\w+)`", rf"[`\1`]({page}#{package}.\1)", names)
        return f"| [{title}]({page}){{ #{title.lower().replace(' ', '-')} }} | {links} |"

    return ROW.sub(row, text)


def _is_top(folder: str) -> bool:
    """Whether the page is beside docs/; the site has it in the folder of the other pages."""
    return folder in {"", "."}


def titles_of(root: Path) -> dict[str, str]:
    """Return the first heading of each page of docs/, by its path in the tree."""
    pages = sorted((root / "docs").rglob("*.md"))
    first = {page: page.read_text().partition("\n")[0] for page in pages}
    return {page.relative_to(root).as_posix(): line.removeprefix("# ") for page, line in first.items()}
