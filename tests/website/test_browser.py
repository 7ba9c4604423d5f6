"""The site in a browser: the search finds pages, both schemes work, and nothing leaves this machine."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.website.conftest import opened


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


FOUND = {
    "poisoned records": "consumers",
    "permanent failure": "consumers",
    "terraform": "other_stacks",
    "kubernetes": "work",
}


def test_the_search_leads_to_a_page(browser, url):
    with opened(browser, f"{url}/index.html") as page:
        page.keyboard.press("/")
        for text, name in FOUND.items():
            page.keyboard.press("Control+A")
            page.keyboard.type(text)
            page.locator(f".md-search-result__item:first-child a[href*='/{name}.html']").first.wait_for()
        page.locator(".md-search-result__link").first.click()
        page.wait_for_url(f"**/{name}.html*")


@pytest.mark.parametrize(("scheme", "name"), [("light", "default"), ("dark", "slate")])
def test_the_scheme_is_that_of_the_system(browser, url, scheme, name):
    with opened(browser, f"{url}/tracker_reference.html", scheme) as page:
        assert page.evaluate("document.body.dataset.mdColorScheme") == name
        assert page.locator(".diagram svg").count() == 1
        assert page.locator("h1").inner_text().startswith("The tracker")


def test_a_narrow_page_does_not_scroll_sideways(browser, url):
    with opened(browser, f"{url}/http/batches.html") as page:
        page.set_viewport_size({"width": 360, "height": 640})

        assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize(
    ("name", "copied"),
    [
        (
            "tutorial",
            "uv tool install './fanin[local]'\nfanin local up --detach\neval \"$(fanin local env)\"",
        ),
        pytest.param(
            "work",
            "fanin work app:handler --queue https://sqs.eu-west-1.amazonaws.com/123456789012/work",
            marks=pytest.mark.proof,
        ),
    ],
)
def test_a_copy_button_copies_the_commands_alone(browser, url, name, copied):
    with opened(browser, f"{url}/{name}.html") as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        block = page.locator(".highlight", has_text=copied.partition("\n")[0]).first
        block.hover()
        block.locator("[data-clipboard-target]").click()
        page.locator(".md-dialog--active").wait_for()

        assert page.evaluate("navigator.clipboard.readText()") == copied


def test_output_has_no_copy_button(browser, url):
    with opened(browser, f"{url}/features.html") as page:
        page.locator("[data-clipboard-target]").first.wait_for(state="attached")

        assert page.locator(".language-text [data-clipboard-target]").count() == 0
