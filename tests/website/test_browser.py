"""The site in a browser: the search finds pages, both schemes work, and nothing leaves this machine."""

from __future__ import annotations

import contextlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = "no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium: apt-get install chromium")


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


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = [f"--{flag}" for flag in FLAGS.split()]
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser, url, scheme="light"):
    """A page of the site; afterwards, all that it requested was on this server."""
    requested = []
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.on("request", lambda request: requested.append(request.url))
    page.goto(url)
    yield page
    context.close()
    server = "/".join(url.split("/")[:3])
    assert requested
    assert [each for each in requested if not each.startswith((f"{server}/", "data:"))] == []


def test_the_search_leads_to_a_page(browser, url):
    with opened(browser, f"{url}/index.html") as page:
        page.keyboard.press("/")
        page.keyboard.type("poisoned records")
        page.locator(".md-search-result__link").first.click()
        page.wait_for_url("**/consumers.html*")


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
