"""Make the pictures of the dashboard in docs/ anew: ``python -m tests.dashboard.pictures``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from fanin.dashboard import Upstream, start
from fanin.instants import iso
from fanin.testing import FakeFanin
from functions.wiring import tracking
from tests.api.conftest import ENVIRONMENT, TENANT
from tests.api.gateway import Gateway
from tests.chromium import launched
from tests.dashboard.pages import BILLION, MISSING, picture, status
from tests.dashboard.serving import Api, Served

DOCS = Path(__file__).parents[2] / "docs"
HALF_AN_HOUR = timedelta(minutes=30)
SIZE = {"width": 1180, "height": 900}
REASONS = ("timeout after 30 s", "HTTP 503 of the image service", "no such product: 4711")


@contextmanager
def served() -> Iterator[tuple[FakeFanin, Api]]:
    """The deployed handlers over a store in memory, with a clock that was set ten minutes back."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        fanin, api = FakeFanin(TENANT), Api(Gateway())
        fanin.clock.started_at = datetime.now(UTC) - timedelta(minutes=10)
        patch.setattr(tracking, "tracker", lambda: fanin.tracker)
        with Served(api):
            yield fanin, api


def catalog(fanin: FakeFanin) -> str:
    """A batch of 200,000 items, of which 44 % are done and 31 have failed."""
    batch = fanin.open(
        "catalog-8", labels={"team": "search"}, deadline=timedelta(hours=6), stuck_after=HALF_AN_HOUR
    )
    items, random = batch.add(200_000), Random(1)
    batch.close()
    fanin.clock.advance(minutes=4)
    failed = sorted(random.sample(range(70_000, 105_000), 31))
    for at, index in enumerate(failed):
        fanin.fail([items[index]], REASONS[0 if at % 4 else at % 3])
    for low in range(0, 110_000, 64):
        wanted = 64 if low < 45_000 else max(0, 64 - (low - 45_000) // 1_000)
        succeeded = [index for index in range(low, low + wanted) if index not in failed]
        fanin.ack([items[index] for index in succeeded])
    fanin.clock.advance(minutes=4)
    return batch.id


def billion(api: Api) -> str:
    """Documents of a batch of a billion items."""
    random, now = Random(2), datetime.now(UTC)
    times = {"createdAt": iso(now - timedelta(hours=4)), "expiresAt": iso(now + timedelta(days=30))}
    drawn = picture(BILLION, lambda cell, size: size * min(1, max(0, random.gauss(1.25 - cell / 900, 0.12))))
    progress = {"acked": 611_400_000, "failed": 0, "estimate": sum(drawn["acked"]), "upperBound": 752_300_000}
    api.instead[f"/v1/batches/{MISSING}"] = (
        200,
        status(total=BILLION, userKey="index-2026-11", progress=progress | {"exact": False}) | times,
    )
    api.instead[f"/v1/batches/{MISSING}/map"] = (200, drawn)
    return MISSING


def shoot(browser: Any, address: str, batch_id: str, scheme: str, name: str) -> None:
    page = browser.new_page(viewport=SIZE, color_scheme=scheme)
    page.goto(address)
    page.goto(f"{page.url.partition('#')[0]}#/batches/{batch_id}")
    page.wait_for_selector("canvas")
    page.wait_for_timeout(500)
    page.screenshot(path=DOCS / name)


def main() -> None:
    with served() as (fanin, api), sync_playwright() as playwright:
        browser = launched(playwright)
        shown = (
            (catalog(fanin), "light", "dashboard-batch.png"),
            (billion(api), "dark", "dashboard-billion.png"),
        )
        for batch_id, scheme, name in shown:
            with closing(start(Upstream(api.url), name="prod eu-west-1")) as dashboard:
                shoot(browser, dashboard.address, batch_id, scheme, name)


if __name__ == "__main__":
    main()
