"""A batch's lifecycle over HTTP against the local run, beside test_conformance. T-numbers: as its cases."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from fanin.tracker import Ack, OpenBatch, Tracker
from tests.http.test_tracking import get, send

TENANT = "000000000000"


def opened(api, count=0, **options):
    batch = api.post("/v1/batches", options)["batchId"]
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


def ranges(api, batch, what, **query):
    found = [part for page in listed(api, f"/v1/batches/{batch}/{what}", **query) for part in page["ranges"]]
    return [(part["from"], part["to"]) for part in found]


def later(tracker: Tracker, wait: timedelta) -> Tracker:
    """The tracker as it will be after *wait*."""
    return Tracker(tracker.store, 4, timedelta(0), now=lambda: datetime.now(UTC) + wait)


def of_full_pages(tracker, count):
    """A batch with pages as they are deployed, of 1,024 items, beside those of four; its id and its group."""
    wide = Tracker(tracker.store)
    batch = wide.open(TENANT, OpenBatch()).batch_id
    return batch, wide.add(TENANT, batch, count).groups[0].id


def test_t27_five_thousand_failures_are_counted_and_listed(api, tracker):
    batch, group = of_full_pages(tracker, 5000)
    ack = {"batchId": batch, "groupId": group, "from": 0, "to": 4999, "outcome": "failure", "reason": "all"}
    status, answer = send(api, "/v1/acks", {"acks": [ack]})

    assert (status, answer["results"][0]["counts"]) == (200, {"accepted": 5000})
    assert get(api, batch)["progress"]["failed"] == 5000
    assert sum(high - low + 1 for low, high in ranges(api, batch, "failures")) == 5000


@pytest.mark.parametrize("count", [50_000, pytest.param(1_000_000, marks=pytest.mark.proof)])
def test_t37_three_missing_of_very_many_are_one_page(api, tracker, count):
    batch, group = of_full_pages(tracker, count)
    middle, last = count // 2, count - 1
    for low, high in ((1, middle - 1), (middle + 1, last - 1)):
        tracker.ack(TENANT, [Ack(batch, group, low, high, "me")])

    assert listed(api, f"/v1/batches/{batch}/outstanding") == [
        {"ranges": [{"groupId": group, "from": at, "to": at} for at in (0, middle, last)]}
    ]


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
