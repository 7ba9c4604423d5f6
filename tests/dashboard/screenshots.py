"""Pictures of the dashboard: ``python -m tests.dashboard.screenshots FOLDER`` writes them as PNG files.

Two of them are in ``docs/``. The batches are in memory; the one of a billion items is a document of the API.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fanin.dashboard import Upstream, start
from fanin.testing import FakeFanin
from functions.wiring import tracking
from tests.api.conftest import CACHED, ENVIRONMENT, TENANT
from tests.api.gateway import Gateway
from tests.dashboard import documents
from tests.dashboard.conftest import ARGUMENTS, CHROMIUM
from tests.dashboard.pages import BILLION, MISSING, picture, status, wait
from tests.dashboard.serving import Api, Served

WIDE, NARROW = {"width": 1180, "height": 900}, {"width": 360, "height": 780}
REASONS = ("HTTP 503 of the image service", "no such product: 4711", "time-out after 30 s")


def filled(fanin: FakeFanin) -> dict[str, str]:
    """Open batches in each state, and return the ids of those that are shown by name."""
    chance = random.Random(8)
    for day in range(1, 8):
        done(fanin, f"catalog-{day}", 12_000 + 997 * day, chance, failures=day % 3)
        fanin.clock.advance(hours=24)
    cancelled = fanin.open(user_key="mailing-2", labels={"team": "mail"})
    cancelled.add(50_000)
    cancelled.cancel("wrong template")
    complete = done(fanin, "mailing-3", 10_000, chance, labels={"team": "mail"})
    fanin.clock.advance(minutes=51)
    middle = half(fanin, chance)
    fanin.clock.advance(minutes=4)
    begun = fanin.open(user_key="thumbnails-40", labels={"team": "media"}, expected_items=250_000)
    begun.add(200_000)
    fanin.clock.advance(minutes=5)
    assert fanin.events  # they are sent and confirmed when they are asked for
    return {"complete": complete, "middle": middle, "start": begun.id}


def done(
    fanin: FakeFanin, key: str, items: int, chance: random.Random, failures: int = 0, **options: Any
) -> str:
    """A batch whose items are all acked."""
    batch = fanin.open(user_key=key, **options)
    ids = list(batch.add(items))
    batch.close()
    failed = set(chance.sample(range(items), failures))
    for at in failed:
        fanin.fail([ids[at]], reason=chance.choice(REASONS))
    left = [each for at, each in enumerate(ids) if at not in failed]
    for first in range(0, len(left), 1000):
        fanin.ack(left[first : first + 1000])
    return batch.id


def half(fanin: FakeFanin, chance: random.Random) -> str:
    """A batch of which half is done, mostly in order, with 31 failures."""
    batch = fanin.open(user_key="catalog-8", labels={"team": "search"}, deadline=timedelta(hours=6))
    ids = list(batch.add(200_000))
    batch.close()
    picked = [each for at, each in enumerate(ids) if chance.random() < max(0.0, min(1.0, 1.6 - at / 80_000))]
    for first in range(0, len(picked), 1000):
        fanin.ack(picked[first : first + 1000])
    undone = sorted(set(ids) - set(picked))
    for each in chance.sample(undone[: len(undone) // 3], 31):
        fanin.fail([each], reason=chance.choice(REASONS))
    return batch.id


def billion(api: Api) -> None:
    """Put a batch of a billion items in place of the handlers' answers."""
    chance = random.Random(9)
    progress = {
        "acked": 402_000_000,
        "failed": 1_204,
        "estimate": 681_204_331,
        "upperBound": 700_000_000,
        "exact": False,
    }
    known = status(
        total=BILLION, userKey="index-2026-11", progress=progress, deadlineAt="2027-01-01T00:00:00.000Z"
    )
    shares = [max(0.0, min(1.0, 1.3 - cell / 900 + chance.uniform(-0.2, 0.2))) for cell in range(1024)]
    api.instead[f"/v1/batches/{MISSING}"] = (200, known)
    made = picture(BILLION, lambda cell, size: size * shares[cell], set(chance.sample(range(700), 19)))
    api.instead[f"/v1/batches/{MISSING}/map"] = (200, made)
    samples = [
        {
            "itemId": f"{MISSING}:{MISSING}:{at * 7_919_311}",
            "reason": chance.choice(REASONS),
            "at": documents.AT,
        }
        for at in range(1, 9)
    ]
    api.instead[f"/v1/batches/{MISSING}/failures"] = (200, {"ranges": [], "samples": samples})


@contextmanager
def served() -> Iterator[tuple[str, dict[str, str]]]:
    """Serve the API and a dashboard of it; yield its address and the ids of batches."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        for cached in CACHED:
            cached.cache_clear()
        fanin = FakeFanin(TENANT, at=datetime.now(UTC) - timedelta(days=7, hours=1))
        patch.setattr(tracking, "tracker", lambda: fanin.tracker)
        ids = filled(fanin) | {"billion": MISSING}
        api = Api(Gateway())
        documents.put(api)
        billion(api)
        with Served(api):
            dashboard = start(Upstream(api.url), name="prod eu-west-1", events=lambda: documents.EVENTS)
            yield dashboard.address, ids
            dashboard.close()


def shots(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with served() as (address, ids), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = browser.new_context(viewport=WIDE)
        page = context.new_page()
        page.goto(address)
        views = {"batches": ("#/batches", "catalog-8")}
        views |= {name: (f"#/batches/{id_}", "A cell is") for name, id_ in ids.items()}
        views |= {"targets": ("#/tasks", "mail/eu"), "queue": ("#/queues/thumbs", "worker-1")}
        for scheme, size in (("light", WIDE), ("dark", WIDE), ("light", NARROW), ("dark", NARROW)):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(size)
            form = scheme if size is WIDE else f"{scheme}-narrow"
            for name, (hash_, text) in views.items():
                page.goto(address.partition("?")[0] + hash_)
                wait(page, text)
                page.wait_for_timeout(2600 if scheme == "light" else 500)
                page.screenshot(path=folder / f"{name}-{form}.png", full_page=size is NARROW)
        browser.close()


if __name__ == "__main__":
    shots(Path(sys.argv[1]))
