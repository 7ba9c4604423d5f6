"""The built site: no page requests anything from other hosts; navigation and search have all pages."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.config import load_config

import fanin
from tests.website.conftest import FEW
from website import hooks, links, replay, seed, twins
from website.http_reference import Reference

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = json.loads((ROOT / "docs" / "openapi.json").read_text())
REFERENCE = Reference(DOCUMENT)
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Fetches(HTMLParser):
    """Collects what a browser requests for a page, and the ids of its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.mermaid = 0

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in FETCHED and found.get(FETCHED[tag]) and found.get("rel") != "canonical":
            self.urls.append(found[FETCHED[tag]])
        self.mermaid += "mermaid" in (found.get("class") or "").split()


@cache
def fetched(page: Path) -> Fetches:
    parser = Fetches()
    parser.feed(page.read_text())
    return parser


def test_no_page_requests_anything_from_another_host(site):
    pages = sorted(site.rglob("*.html"))
    found = {page.name: fetched(page) for page in pages}

    assert len(pages) > len(FEW)
    assert {name: urls for name, each in found.items() if (urls := [u for u in each.urls if "//" in u])} == {}
    # Material's script fetches Mermaid from elsewhere for such an element.
    assert [name for name, each in found.items() if each.mermaid] == []


def test_no_style_requests_anything_from_another_host(site):
    for style in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text()) == []


def test_what_a_page_requests_is_in_the_site(site):
    missing = [
        (page.name, url)
        for page in site.rglob("*.html")
        if page.name != "404.html"
        for url in fetched(page).urls
        if not url.startswith("data:") and not (page.parent / re.split("[?#]", url)[0]).exists()
    ]

    assert missing == []


def test_every_page_is_in_the_search(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    searched = {entry["location"].partition("#")[0] for entry in index["docs"]}
    pages = {page.relative_to(site).as_posix() for page in site.rglob("*.html")}

    assert pages - {"404.html", replay.NAME} <= searched


@pytest.mark.proof
def test_every_page_is_in_the_site(whole_site):
    assert [name for name in pages() if not (whole_site / name).with_suffix(".html").exists()] == []


def pages() -> list[str]:
    """The pages of docs/, those of the root, and those that the build makes."""
    docs = ROOT / "docs"
    written = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    return sorted([*written, *links.PAGES.values(), seed.NAME, *(name for name, _ in REFERENCE.pages())])


def named(nav) -> list[str]:
    """The pages that a navigation, or a part of it, leads to."""
    if isinstance(nav, str):
        return [nav]
    return [name for entry in (nav.values() if isinstance(nav, dict) else nav) for name in named(entry)]


def test_the_navigation_leads_to_every_page_once_and_to_no_other():
    config = load_config(str(ROOT / "mkdocs.yml"))

    assert sorted(named(hooks.on_config(config).nav)) == pages()


def test_the_reference_has_every_route_and_every_schema_once_and_links_them_from_its_index():
    pages = dict(REFERENCE.pages())
    routes = [route for methods in DOCUMENT["paths"].values() for route in methods.values()]
    anchors = [f"route-{route['operationId']}".lower() for route in routes]
    anchors += [name.lower() for name in DOCUMENT["components"]["schemas"]]

    for anchor in anchors:
        (name,) = [name for name, text in pages.items() if f" {{ #{anchor} }}\n" in text]
        assert pages[name].count(f" {{ #{anchor} }}\n") == 1
        assert f"]({name}#{anchor}){{ #{anchor} }}" in REFERENCE.index()


def test_a_route_and_a_schema_have_the_anchors_of_the_reference(site):
    page, index = ((site / name).read_text() for name in ("http/batches.html", "http_api.html"))

    for anchor in ("route-openbatch", "openbatchbody"):
        assert page.count(f'id="{anchor}"') == 1
        assert f'href="http/batches.html#{anchor}" id="{anchor}"' in index


def test_the_reference_has_every_public_class_and_its_index_links_it():
    text = {page.name: page.read_text() for page in (ROOT / "docs" / "python").glob("*.md")}
    index = links.with_classes((ROOT / "docs" / links.CLASSES).read_text())
    errors = {
        name
        for name in fanin.__all__
        if isinstance(getattr(fanin, name), type) and issubclass(getattr(fanin, name), Exception)
    }
    described = {(page, *identifier) for page in text for identifier in twins.REFERENCE.findall(text[page])}

    assert {name for _, package, name in described if package == "fanin"} == {*fanin.__all__} - errors
    assert all(hasattr(import_module(package), name) for _, package, name in described)
    assert {*re.findall(r"\(python/(\w+\.md)#([\w.]+)\.(\w+)\)", index)} == described


def test_each_page_has_a_twin_of_markdown_and_the_list_for_programs_leads_to_all(site):
    listed = (site / "llms.txt").read_text()
    listed_twins = set(re.findall(r"^- \[[^]]+\]\(([^)]+)\)", listed, re.MULTILINE))
    pages = {str(page.relative_to(site).with_suffix(".md")) for page in site.rglob("*.html")}

    assert listed.startswith("# fanin\n\n> The fan-in of your fan-out.")
    assert listed_twins == pages - {"404.md", "replay.md"}
    assert [
        line for line in listed.splitlines() if line.count("(") != line.count(")")
    ] == []  # no half sentence


def test_the_twin_of_a_page_of_classes_describes_each_with_its_methods():
    page = SimpleNamespace(file=SimpleNamespace(src_uri="reopened.md"), markdown="::: fanin.Reopened\n")
    _, (name, text) = twins.twins(SimpleNamespace(items=[], pages=[page]), "# fanin")

    assert name == "reopened.md"
    assert text.startswith("### `Reopened(")
    assert "#### `ack(" in text


@pytest.mark.proof
def test_a_page_of_classes_has_their_methods_without_the_roles_of_docstrings(whole_site):
    text = (whole_site / "python" / "batches.html").read_text()

    assert 'id="fanin.Reopened.ack"' in text
    assert re.findall(r":(?:meth|class|func):<", text) == []


@pytest.mark.proof
def test_the_links_of_a_twin_lead_to_twins(whole_site):
    for twin in sorted(whole_site.rglob("*.md")):
        for link in re.findall(r"\]\(([\w./-]+\.md)[#)]", twin.read_text()):
            assert twin.parent.joinpath(link).exists(), (twin, link)
