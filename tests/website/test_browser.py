"""The site in a browser: the search finds pages, both schemes work, and nothing leaves this machine."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.website.conftest import needs_chromium, opened

pytestmark = needs_chromium


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def url(site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("poisoned records", "consumers"),
        ("permanent failure", "consumers"),
        ("terraform", "constructs"),
        ("kubernetes", "work"),
    ],
)
def test_the_search_leads_to_a_page(browser, url, words, name):
    with opened(browser, f"{url}/index.html") as page:
        page.keyboard.press("/")
        page.keyboard.type(words)
        page.locator(".md-search-result__link").first.click()
        page.wait_for_url(f"**/{name}.html*")


@pytest.mark.parametrize(("scheme", "name"), [("light", "default"), ("dark", "slate")])
def test_the_scheme_is_that_of_the_system(browser, url, scheme, name):
    with opened(browser, f"{url}/tracker.html", scheme) as page:
        assert page.evaluate("document.body.dataset.mdColorScheme") == name
        assert page.locator(".diagram svg").count() == 1
        assert page.locator("h1").inner_text().startswith("The tracker")


def test_a_narrow_page_does_not_scroll_sideways(browser, url):
    with opened(browser, f"{url}/http_api.html") as page:
        page.set_viewport_size({"width": 360, "height": 640})

        assert page.evaluate("document.documentElement.scrollWidth") <= 360
