"""The dashboard over the deployed handlers in memory, and a headless Chromium that opens it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from fanin.dashboard import Dashboard, Upstream, start
from fanin.testing import FakeFanin
from functions.wiring import tracking
from tests.api.conftest import TENANT, environment  # noqa: F401  # a fixture
from tests.api.gateway import Gateway
from tests.chromium import launched
from tests.dashboard.asking import Browser
from tests.dashboard.serving import Api, Served

WIDE = {"width": 1100, "height": 800}


@pytest.fixture
def fanin(environment: pytest.MonkeyPatch) -> FakeFanin:  # noqa: F811
    """The tracker that the handlers use, as a client."""
    fake = FakeFanin(TENANT)
    environment.setattr(tracking, "tracker", lambda: fake.tracker)
    return fake


@pytest.fixture
def api(fanin: FakeFanin) -> Iterator[Api]:
    api = Api(Gateway())
    with Served(api):
        yield api


Start = Callable[..., Dashboard]


@pytest.fixture
def starts(api: Api) -> Iterator[Start]:
    """Start dashboards of the API; they are closed after the test."""
    with ExitStack() as stack:

        def started(**options: Any) -> Dashboard:
            dashboard = start(options.pop("upstream", None) or Upstream(api.url), **options)
            stack.callback(dashboard.close)
            return dashboard

        yield started


@pytest.fixture
def dashboard(starts: Start) -> Dashboard:
    return starts(name="test")


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """A browser; it ends with this room, because its event loop is that of the process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def tabs(chromium: Any) -> list[Any]:
    """Tabs that no test uses; a new one costs as much CPU as a test in it."""
    return []


class Blank(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="package")
def blank() -> Iterator[str]:
    """An empty page of the dashboards' host: after about:blank a tab starts a new process."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Blank) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def opens(chromium: Any, tabs: list[Any], blank: str) -> Iterator[Callable[..., Any]]:
    """Open a dashboard; an error of the page's scripts fails the test.

    In a tab without cookies, or in a new profile if it has options or a clock of the test.
    """
    errors: list[str] = []
    used, own = [], []

    def note(error: Any) -> None:
        errors.append(str(error))

    def opened(dashboard: Dashboard, hash_: str = "", has_clock: bool = False, **options: Any) -> Any:
        is_own = has_clock or bool(options)
        page = tabs.pop() if tabs and not is_own else new_tab(chromium, **options)
        (own if is_own else used).append(page)
        page.on("pageerror", note)
        if has_clock:
            page.clock.install()
        page.goto(dashboard.address + hash_)
        return page

    yield opened
    for page in own:
        page.context.close()
    for page in used:
        page.remove_listener("pageerror", note)
        page.unroute_all()
        page.context.clear_cookies()
        page.goto(blank)
        tabs.append(page)
    assert errors == []


def new_tab(chromium: Any, **options: Any) -> Any:
    """Return a tab in a new profile."""
    context = chromium.new_context(**{"viewport": WIDE, "timezone_id": "Europe/Berlin"} | options)
    page = context.new_page()
    page.set_default_timeout(10_000)
    return page


@pytest.fixture
def browser(dashboard):
    browser = Browser(dashboard.address)
    browser.open()
    return browser


@pytest.fixture
def writer(starts):
    browser = Browser(starts(allow_writes=True).address)
    browser.open()
    return browser
