"""The dashboard over the local run: what its page reads is what the API and the bus say."""

from __future__ import annotations

import time
from functools import partial

import urllib3

from fanin.local import LocalRun
from tests.dashboard.asking import Browser
from tests.dashboard.process import running

WAIT_SECONDS = 60


def test_a_batch_is_read_closed_and_its_event_is_shown(run: LocalRun) -> None:
    with running("--url", run.url, "--allow-writes") as (_, address):
        browser = Browser(address)
        browser.open()
        batch = acked(run.url)
        closed = browser.write(f"/v1/batches/{batch}/close")
        known, drawn = (browser.ask(f"/v1/batches/{batch}{part}") for part in ("", "/map"))

        assert [each.status for each in (closed, known, drawn)] == [200, 200, 200]
        assert known.json()["state"] == "COMPLETE"
        assert sum(drawn.json()["acked"]) == 20
        assert is_shown(browser, batch)


def acked(url: str) -> str:
    """The id of an open batch whose items are all acked."""
    post = partial(urllib3.request, "POST")
    batch: str = post(f"{url}/v1/batches", json={"userKey": "shown"}).json()["batchId"]
    (group,) = post(f"{url}/v1/batches/{batch}/items", json={"count": 20}).json()["groups"]
    post(f"{url}/v1/acks", json={"acks": [{"batchId": batch, "groupId": group["id"], "from": 0, "to": 19}]})
    return batch


def is_shown(browser: Browser, batch: str) -> bool:
    """Whether the events come to have the completion of *batch*."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        for event in browser.ask("/events").json()["events"]:
            if (event["detailType"], event["detail"].get("batchId")) == ("BatchCompleted", batch):
                return True
        time.sleep(0.1)
    return False
