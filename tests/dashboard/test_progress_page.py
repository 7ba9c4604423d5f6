"""The guide's web page draws the progress of a batch to its end, from another origin than the API's."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.dashboard.pages import opened, polled
from tests.pages import ROOT, blocks_of

GUIDE = ROOT / "docs" / "howto" / "progress_page.md"
(SNIPPET,) = (block.code for block in blocks_of(GUIDE) if block.language == "html")
ASKED = "/v1/progress"
NOTES_STREAMS = """
    window.streams = [];
    window.EventSource = class extends EventSource {
        constructor(url) { super(url); streams.push(this); }
    };
"""


def shows(page, text):
    page.wait_for_function("text => document.getElementById('text').textContent === text", arg=text)


def asks_for_nothing(page, api):
    """Nor will the browser, which connects again in its own time, unless a stream is closed."""
    page.wait_for_function("streams.every((each) => each.readyState === EventSource.CLOSED)")
    before = api.asked(ASKED)
    page.clock.run_for(60_000)
    return api.asked(ASKED) == before


@pytest.fixture
def draws(chromium, api, tmp_path):
    """Opens the page with a token in a shop on a port of its own; a test can move the clock of the page."""
    folder = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    page = chromium.new_page()
    page.clock.install()
    page.add_init_script(NOTES_STREAMS)

    def drawn(token):
        html = SNIPPET.replace("API_URL", api.url).replace("TOKEN", token)
        (tmp_path / "index.html").write_text(html)
        page.goto(f"http://127.0.0.1:{shop.server_address[1]}/")
        return page

    with ThreadingHTTPServer(("127.0.0.1", 0), folder) as shop:
        threading.Thread(target=shop.serve_forever, args=(0.02,), daemon=True).start()
        yield drawn
        shop.shutdown()
    page.close()


def test_the_page_of_the_guide_is_short_and_follows_its_batch_to_the_end(fanin, api, draws):
    batch = opened(fanin, "import-7", items=100, acked=73)
    page = draws(batch.progress_token(expires=60))

    assert len(SNIPPET.splitlines()) <= 15
    shows(page, "CLOSED: 73 of 100")
    assert page.evaluate("[bar.value, bar.max]") == [73, 100]
    remaining = [item for part in batch.outstanding() for item in part]
    fanin.ack(remaining[:20])
    fanin.clock.advance(seconds=1)
    shows(page, "CLOSED: 93 of 100")  # the browser has connected again
    api.instead[ASKED] = (429, {"message": "Too Many Requests"})  # the gateway's own, without CORS headers
    page.wait_for_event("requestfailed", lambda request: request.resource_type == "fetch")
    del api.instead[ASKED]
    fanin.ack(remaining[20:])
    fanin.clock.advance(seconds=1)
    polled(page, api, ASKED)
    shows(page, "succeeded: 100 of 100")
    assert asks_for_nothing(page, api)


@pytest.mark.parametrize("cut", [0, 1])
def test_the_page_stops_if_its_token_is_invalid_or_has_expired(fanin, api, draws, cut):
    batch = opened(fanin, "import-8", items=2, acked=1)
    token = batch.progress_token(expires=60)
    fanin.clock.advance(seconds=60)
    page = draws(token[cut:])
    shows(page, "no token, or an old one")

    assert asks_for_nothing(page, api)
