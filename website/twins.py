"""The pages as Markdown beside their HTML, and llms.txt, which lists them for programs (llmstxt.org)."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

LIST = "llms.txt"
REFERENCE = re.compile(r"^::: (\S+)\.(\w+)$", re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
PROSE = re.compile(r"^[A-Z`*\[](?:\([^)\n]*\)|[^(\n])*?[.:](?=\s|$)", re.MULTILINE)
LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")
TYPE = re.compile(r"(: |-> )'([^']*)'")
ABOUT_MAX = 200


def twins(nav: Navigation, head: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file: the list, which begins with *head*, and a page each."""
    yield LIST, "\n".join([head, *_listed(nav.items, "Pages")]) + "\n"
    for page in nav.pages:
        yield page.file.src_uri, REFERENCE.sub(_described, page.markdown or "")


def _listed(items: list[Any], title: str) -> Iterator[str]:
    """Yield a heading and a line for each page, those of sections below after them."""
    if pages := [item for item in items if isinstance(item, Page)]:
        yield from ("", f"## {title}", "", *map(_line, pages))
    for section in (item for item in items if isinstance(item, Section)):
        yield from _listed(section.children, section.title)


def _line(page: Page) -> str:
    first = PROSE.search(LINK.sub(r"\1", COMMENT.sub("", page.markdown or "")))
    about = f": {first[0]}" if first and len(first[0]) <= ABOUT_MAX else ""
    return f"- [{page.title}]({page.file.src_uri}){about}"


def _described(found: re.Match[str]) -> str:
    """Return a public object with its signature and docstring, and those of its public methods."""
    thing = getattr(importlib.import_module(found[1]), found[2])
    parts = [_part(found[2], thing, "###")]
    if inspect.isclass(thing):
        members = inspect.getmembers(thing, _is_shown)
        parts += [_part(name, each, "####") for name, each in members if not name.startswith("_")]
    return "\n\n".join(parts)


def _is_shown(member: object) -> bool:
    return inspect.isfunction(member) or isinstance(member, property)


def _signature(thing: Any) -> str:
    """Return the signature as it is called, with its types as they are written."""
    return TYPE.sub(r"\1\2", str(inspect.signature(thing))).replace("(self, ", "(").replace("(self)", "()")


def _part(name: str, thing: Any, level: str) -> str:
    try:
        signature = "" if isinstance(thing, property) else _signature(thing)
    except (TypeError, ValueError):
        signature = ""
    return f"{level} `{name}{signature}`\n\n{inspect.getdoc(thing) or ''}".rstrip()
