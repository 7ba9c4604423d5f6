"""Makes replay.html of the site: the dashboard's own page, whose requests recorded answers satisfy.

The answers are those of the deployed handlers over the tracker in memory, every 3 seconds of a minute. It is
one file without a server; replay.js takes the place of `fetch` and of the clock.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode
from uuid import UUID

from fanin.dashboard.server import page as files_of_the_page
from fanin.testing import FakeFanin
from fanin.testing.fake import TENANT
from fanin.tracker.rules.model import ALIVE
from functions.api import read_batches
from functions.wiring import tracking

NAME = "replay.html"
SHIM = Path(__file__).with_name("replay.js")
AT = datetime(2026, 11, 28, 1, 30, tzinfo=UTC)
FRAMES, STEP = 20, timedelta(seconds=3)
BILLION, SHARDS = 10**9, 8
HUNG, BROKEN = 5, 3
"""Numbers of albums."""
SLOW, REFUSED, LOST = "timeout after 30 s", "HTTP 503 of the image service", "no such product: 4711"
CONDITIONS = ("live", "problems", "endedBadly")
PARTS = ("", "/map", "/failures", "/children")
ONLY_BATCHES = '#views a:not([href="#/batches"]) { display: none }'
NONE: Mapping[str, str] = {}
ENVIRONMENT = {
    "FANIN_BATCHES_TABLE": "batches",
    "FANIN_PAGES_TABLE": "pages",
    "FANIN_TENANT": TENANT,
    "FANIN_ALLOW_ANONYMOUS": "true",
    "FANIN_SETTINGS": "{}",
}
TIMELESS = SimpleNamespace(get_remaining_time_in_millis=lambda: 30_000)
Work = Callable[[int], None]
Kept = list[tuple[int, Any]]
"""Answers of a path: the first frame of each, and its body."""


def page() -> str:
    """Return the page: its files, the recorded answers and the shim in one."""
    files = {name: answer.body.decode() for name, answer in files_of_the_page().items()}
    imports = {f"fanin{name}": _module(text) for name, text in files.items() if name.endswith(".js")}
    answers = json.dumps(recorded(), separators=(",", ":")).replace("<", "\\u003c")
    parts = (
        f"<script type=importmap>{json.dumps({'imports': imports})}</script>",
        f"<script type=application/json id=recorded>{answers}</script>",
        f"<script>{SHIM.read_text()}</script>",
        '<script type=module>import "fanin/app.js"</script>',
    )
    style = f"<style>{files['/style.css']}\n{ONLY_BATCHES}</style>"
    html = files["/"].replace('<link rel="stylesheet" href="/style.css">', style)
    return html.replace('<script type="module" src="/app.js"></script>', "\n".join(parts))


def _module(script: str) -> str:
    """Return *script* as a data URL, with imports that a map resolves: a path has no meaning there."""
    bare = re.sub(r'from "/([\w/]+\.js)"', r'from "fanin/\1"', script)
    return f"data:text/javascript;base64,{base64.b64encode(bare.encode()).decode()}"


def recorded() -> dict[str, Any]:
    """Return when it was, the time between frames, and of each path the answers: [first frame, body]."""
    fanin, random = FakeFanin(TENANT, at=AT), Random(11)
    fanin.tracker.new_id = lambda: UUID(int=random.getrandbits(128), version=4)
    fanin.tracker.entropy = random.randbytes
    answers: dict[str, Kept] = {}
    with patch.dict(os.environ, ENVIRONMENT), patch.object(tracking, "tracker", lambda: fanin.tracker):
        work = [index(fanin), *night(fanin), catalog(fanin, random)]
        start = fanin.clock.now()
        for frame in range(FRAMES):
            for step in work:
                step(frame)
            fanin.clock.advance(STEP)
            for path, body in list(_asked(answers)):
                if not (kept := answers.setdefault(path, [])) or kept[-1][1] != body:
                    kept.append((frame, body))
    return {"at": start.timestamp() * 1000, "step": STEP.total_seconds() * 1000, "answers": answers}


def _asked(answers: Mapping[str, Kept]) -> Iterator[tuple[str, Any]]:
    """Yield what the page may ask for, and the answers; those of an ended batch are asked for once more."""
    queries: list[dict[str, str]] = [{}, *({"condition": name} for name in CONDITIONS)]
    for query in queries:
        found = _answer("/v1/batches", "/v1/batches", query)
        yield "?".join(filter(None, ("/v1/batches", urlencode(query)))), found
        for batch in [] if query else found["batches"]:
            path = f"/v1/batches/{batch['batchId']}"
            if path not in answers or answers[path][-1][1]["state"] in ALIVE:
                parameters = {"batchId": batch["batchId"]}
                for part in PARTS:
                    yield path + part, _answer("/v1/batches/{batchId}" + part, path + part, {}, parameters)
                children, children_path = "/v1/batches/{batchId}/children", f"{path}/children"
                yield (
                    f"{children_path}?done=true",
                    _answer(children, children_path, {"done": "true"}, parameters),
                )


def _answer(route: str, path: str, query: Mapping[str, str], parameters: Mapping[str, str] = NONE) -> Any:
    """Return what the deployed handler answers to the request."""
    request = {"method": "GET", "path": path}
    event = {
        "version": "2.0",
        "routeKey": f"GET {route}",
        "rawPath": path,
        "pathParameters": parameters,
        "queryStringParameters": query,
        "headers": {},
        "requestContext": {"requestId": "replay", "stage": "$default", "http": request},
    }
    return json.loads(read_batches.handler(event, TIMELESS)["body"])


def index(fanin: FakeFanin) -> Work:
    """Open a batch of a billion items, which eight shards work on."""
    batch = fanin.open("index-2026-11", labels={"team": "search"})
    items = batch.add(BILLION)
    batch.close()
    acked = 0

    def work(frame: int) -> None:
        nonlocal acked
        size = 8192 if frame else 128 * 1024
        starts = (shard * BILLION // SHARDS + acked for shard in range(SHARDS))
        fanin.ack_ranges([items[low : low + size] for low in starts])
        acked += size

    return work


def night(fanin: FakeFanin) -> Iterator[Work]:
    """Open a batch whose items wait for batches of their own; one of these hangs, and one loses items."""
    parent = fanin.open("albums-night", stuck_after=timedelta(minutes=30))
    albums = parent.add(6)
    parent.close()
    for number, item in enumerate(albums, 1):
        child = fanin.open(
            f"album-{number:02}", parent=item, stuck_after=timedelta(minutes=5), parent_fails_on="any"
        )
        pictures = list(child.add(40 * number))
        child.close()
        fanin.ack(pictures[:20])
        yield _album(fanin, pictures[20:], number)
    fanin.clock.advance(minutes=7)


def _album(fanin: FakeFanin, pictures: list[str], number: int) -> Work:
    def work(frame: int) -> None:
        part = pictures[frame * 15 : (frame + 1) * 15] if number != HUNG else []
        if number == BROKEN and frame == 2:
            fanin.fail([part.pop() for _ in range(4)], REFUSED)
        if part:
            fanin.ack(part)

    return work


def catalog(fanin: FakeFanin, random: Random) -> Work:
    """Open a batch of 200,000 items, which ends with failures before the last frames."""
    batch = fanin.open("catalog-8", labels={"team": "shop"}, deadline=timedelta(hours=6))
    items, many = batch.add(200_000), 12_000
    batch.close()
    failed = set(random.sample(range(60_000, 150_000), 31))

    def work(frame: int) -> None:
        low, high = (min(at * many, len(items)) for at in (frame, frame + 1))
        broken = sorted(failed.intersection(range(low, high)))
        for at in broken:
            fanin.fail([items[at]], (SLOW, SLOW, REFUSED, LOST)[at % 4])
        gaps = pairwise([low - 1, *broken, high])
        fanin.ack_ranges([items[before + 1 : at] for before, at in gaps if before + 1 < at])

    return work
