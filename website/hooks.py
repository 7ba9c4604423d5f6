"""Hooks of MkDocs: README as the first page, links of the source tree, the API's reference, the replay."""

from __future__ import annotations

import json
import posixpath
import re
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from website import replay, seed
from website.diagrams import shown
from website.http_reference import FOLDER as HTTP
from website.http_reference import MARKER, Reference
from website.links import CLASSES, PAGES, for_site, titles_of, with_classes

ROOT = Path(__file__).resolve().parents[1]
STYLE = "assets/site.css"
OUTPUT = "<!-- prints -->\n"
CODE = '<div class="'
CONSOLE = re.compile(r"<div( class=\"[\w-]+ highlight\">.*?)(<pre>.*?)</pre>", re.DOTALL)
ROLE = re.compile(r":(?:meth|class|func|attr|mod):(?=<code>)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Expand `*` and `folder/*` in the navigation to the pages that no other entry names."""
    nav, docs = config.nav or [], Path(config.docs_dir)
    named = {*PAGES.values(), *re.findall(r"[\w/]+\.md", str(nav))}
    config.nav = [_expanded(entry, docs, named) for entry in nav]
    config.extra_css.append(STYLE)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are outside of docs/, the style, the replay, and the page of a seed."""
    for source, target in PAGES.items():
        text = for_site((ROOT / source).read_text(), "", titles_of(ROOT))
        files.append(File.generated(config, target, content=text))
    style = (ROOT / "website" / "site.css").read_text()
    files.append(File.generated(config, STYLE, content=style))
    files.append(File.generated(config, replay.NAME, content=replay.page()))
    files.append(File.generated(config, seed.NAME, content=seed.page()))
    for name, text in _http().pages():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Rewrite the links of a page of docs/, and put the index of the API in the place of its marker."""
    name = page.file.src_uri
    if page.parent is None:  # alone under its tab, so that a list of pages would have one entry
        page.meta["hide"] = ["navigation"]
    if name in {*PAGES.values(), seed.NAME} or name.startswith(f"{HTTP}/"):
        return markdown
    if MARKER in markdown:
        markdown = markdown.replace(MARKER, _http().index())
    if name == CLASSES:
        markdown = with_classes(markdown)
    folder = posixpath.join("docs", posixpath.dirname(name)).rstrip("/")
    return for_site(shown(markdown), folder, titles_of(ROOT))


def on_page_content(html: str, **_: object) -> str:
    """Remove the roles that docstrings put before names; let copy buttons copy commands alone."""
    html = html.replace(f"{OUTPUT}{CODE}", f'{OUTPUT}<div class="no-copy ')
    return CONSOLE.sub(_with_commands, ROLE.sub("", html))


def _with_commands(block: re.Match[str]) -> str:
    """Return a block of code with the text of its copy button: the lines after a prompt."""
    lines = unescape(re.sub(r"<[^>]*>", "", block[2])).splitlines()
    copied: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("$ "):
            copied.append(line[2:])
        elif copied and before.endswith("\\"):
            copied.append(line)
    text = escape("\n".join(copied))
    return f'<div data-copy="{text}"{block[1]}{block[2]}</pre>' if copied else block[0]


@cache
def _http() -> Reference:
    return Reference(json.loads((ROOT / "docs" / "openapi.json").read_text()))


def _expanded(entry: dict[str, Any], docs: Path, named: set[str]) -> dict[str, Any]:
    (title, children), *_ = entry.items()
    if not isinstance(children, list):
        return entry
    pages: list[Any] = []
    for child in children:
        if isinstance(child, str) and child.endswith("*"):
            found = sorted(path.relative_to(docs).as_posix() for path in docs.glob(f"{child}.md"))
            pages += [name for name in found if name not in named]
        else:
            pages.append(child)
    return {title: pages}
