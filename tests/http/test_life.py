"""A batch's whole life over HTTP against the local run, beside test_conformance. T-numbers: docs/peers.md."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from fanin.tracker import Tracker
from tests.http.test_tracking import get, send

TENANT = "000000000000"


def opened(api, count=0, **wish):
    batch = api.post("/v1/batches", wish)["batchId"]
    if not count:
        return batch, []
    group = api.post(f"/v1/batches/{batch}/items", {"count": count})["groups"][0]["id"]
    return batch, [f"{batch}:{group}:{index}" for index in range(count)]


def fail(api, *items, reason="boom"):
    acks = [{"itemId": item, "outcome": "failure", "reason": reason} for item in items]
    status, answer = send(api, "/v1/acks", {"acks": acks})
    assert status == 200, answer
    return [result["verdict"] for result in answer["results"]], answer["completions"]


def listed(api, path, **query):
    """All pages of a list, as the documents they are."""
    pages, cursor = [], None
    while True:
        fields = query | ({"cursor": cursor} if cursor else {})
        answer = api.pool.request("GET", api.url + path, fields=fields)
        assert answer.status == 200, answer.data
        pages.append(json.loads(answer.data))
        cursor = pages[-1].get("cursor")
        if cursor is None:
            return pages


def later(tracker: Tracker, wait: timedelta) -> Tracker:
    """The tracker as it will be after *wait*."""
    return Tracker(tracker.store, 4, timedelta(0), now=lambda: datetime.now(UTC) + wait)


def test_three_levels_of_batches_end_from_the_innermost_outwards(api, bus):
    chain = [opened(api, 1)]
    for _ in range(2):
        chain.append(opened(api, 1, parentItemId=chain[-1][1][0]))
    for batch, _ in chain:
        api.close(batch)
    api.ack(chain[-1][1][0])

    assert [get(api, batch)["result"] for batch, _ in chain] == ["succeeded"] * 3
    times = [bus.of(batch)[0]["completedAt"] for batch, _ in chain]
    assert times == sorted(times, reverse=True)
