"""The built site: no page requests anything from other hosts, and its search has all pages."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import fanin

ROOT = Path(__file__).resolve().parents[2]
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

    assert len(pages) >= 30
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


def test_every_page_of_docs_is_in_the_site_and_in_its_search(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    searched = {entry["location"].partition("#")[0] for entry in index["docs"]}
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).with_suffix(".html").as_posix() for path in docs.rglob("*.md")}

    assert pages | {"index.html", "changelog.html"} <= searched


def test_the_reference_has_every_route_and_every_schema_once_and_links_them_from_its_index(site):
    pages = "".join(page.read_text() for page in (site / "http").glob("*.html"))
    index = (site / "http_api.html").read_text()
    document = json.loads((ROOT / "docs" / "openapi.json").read_text())
    routes = [route for methods in document["paths"].values() for route in methods.values()]
    anchors = [f"route-{route['operationId']}".lower() for route in routes]
    anchors += [name.lower() for name in document["components"]["schemas"]]

    assert [each for each in anchors if pages.count(f'id="{each}"') != 1] == []
    assert [each for each in anchors if not re.search(rf'#{each}" id="{each}"', index)] == []


def test_the_reference_has_every_public_class_and_its_index_links_it(site):
    text = "".join(page.read_text() for page in (ROOT / "docs" / "python").glob("*.md"))
    index = (site / "python.html").read_text()
    errors = {
        name
        for name in fanin.__all__
        if isinstance(getattr(fanin, name), type) and issubclass(getattr(fanin, name), Exception)
    }
    classes = set(re.findall(r"^::: fanin\.(\w+)$", text, re.MULTILINE))

    assert classes == {*fanin.__all__} - errors
    assert set(re.findall(r'href="python/\w+\.html#fanin\.(\w+)"', index)) == classes


def test_each_page_has_a_twin_of_markdown_and_the_list_for_programs_leads_to_all(site):
    listed = (site / "llms.txt").read_text()
    twins = set(re.findall(r"^- \[[^]]+\]\(([^)]+)\)", listed, re.MULTILINE))
    pages = {str(page.relative_to(site).with_suffix(".md")) for page in site.rglob("*.html")}

    assert listed.startswith("# fanin\n\n> The fan-in of your fan-out.")
    assert twins == pages - {"404.md", "replay.md"}
    assert "#### `ack(" in (site / "python/batches.md").read_text()
    for twin in sorted(twins):
        for link in re.findall(r"\]\(([\w./-]+\.md)[#)]", (site / twin).read_text()):
            assert (site / twin).parent.joinpath(link).exists(), (twin, link)
