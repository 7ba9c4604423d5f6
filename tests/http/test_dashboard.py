"""The dashboard over the local run: what its page reads is what the API and the bus say."""

from __future__ import annotations

from functools import partial

import urllib3

from fanin.local import LocalRun
from tests.dashboard.asking import Browser
from tests.dashboard.process import running
from tests.polling import eventually


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
        assert eventually(lambda: is_shown(browser, batch))


def acked(url: str) -> str:
    """The id of an open batch whose items are all acked."""
    post = partial(urllib3.request, "POST")
    batch: str = post(f"{url}/v1/batches", json={"userKey": "shown"}).json()["batchId"]
    (group,) = post(f"{url}/v1/batches/{batch}/items", json={"count": 20}).json()["groups"]
    post(f"{url}/v1/acks", json={"acks": [{"batchId": batch, "groupId": group["id"], "from": 0, "to": 19}]})
    return batch


def is_shown(browser: Browser, batch: str) -> bool:
    """Whether the events have the completion of *batch*."""
    shown = browser.ask("/events").json()["events"]
    return ("BatchCompleted", batch) in [
        (each["detailType"], each["detail"].get("batchId")) for each in shown
    ]
