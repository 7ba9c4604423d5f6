"""What touches too many pages for one request is sent in parts, over each transport."""

from __future__ import annotations

import pytest

from fanin import Verdict
from fanin.api import admission
from fanin.client.consuming.adapter import Adapter
from fanin.client.consuming.records import dead_letter_message_ack
from fanin.client.items import Items, merged
from fanin.client.transports.direct import DirectTransport
from fanin.client.transports.http import BODY_MAX, HttpTransport
from fanin.tracker import OpenBatch, Outcome
from fanin.tracker.rules import acking
from tests.client.conftest import TENANT, lost_after, sqs_event

SUCCESS, FAILURE = Outcome.SUCCESS, Outcome.FAILURE


@pytest.fixture(autouse=True)
def few_pages(monkeypatch):
    """Three pages of four items a request; two in which items fail."""
    monkeypatch.setattr(acking, "PAGES_MAX", {SUCCESS: 3, FAILURE: 2})


@pytest.fixture
def items(fanin):
    with fanin.open() as batch:
        return batch.add(40)


def test_a_range_of_many_pages_is_acked_part_by_part(fanin, items):
    report = fanin.ack_ranges(items)

    assert [(part.first, part.last) for part in report.ranges] == [(0, 9), (10, 19), (20, 29), (30, 39)]
    assert all(part.counts == {Verdict.ACCEPTED: 10} for part in report.ranges)
    assert fanin.status(items.batch_id).result == "succeeded"


def test_a_repetition_after_a_lost_answer_is_the_same_requests(over_http, service):
    with over_http.open() as batch:
        items = batch.add(40)
    asked = len(service.seen)
    over_http.ack(items, key="k")
    first = service.seen[asked:]
    service.faults.extend([lost_after] * 2)
    over_http.ack(items, key="k")
    again = service.seen[asked + len(first) :]

    assert list(dict.fromkeys((one.key, one.body) for one in again)) == [(one.key, one.body) for one in first]
    assert len({one.key for one in first}) == len(first)


@pytest.mark.parametrize("over", ["direct", "http"])
def test_a_delivery_of_many_pages_is_settled_whole(tracker, service, over):
    transport = DirectTransport(tracker, TENANT) if over == "direct" else HttpTransport(service.url)
    batch = tracker.open(TENANT, OpenBatch())
    group = tracker.add(TENANT, batch.batch_id, 40).groups[0].id
    event = sqs_event(*(f"{batch.batch_id}:{group}:{at}" for at in range(40)))
    settled = Adapter(transport, ack_of=dead_letter_message_ack).settle(event)

    assert [verdict for _, verdict in settled.acked] == [Verdict.ACCEPTED] * 40
    assert [record["messageId"] for record, _ in settled.acked] == [f"m{at}" for at in range(40)]
    assert tracker.get(TENANT, batch.batch_id).failed == 40


@pytest.mark.parametrize("server_allows", [100, 7])
def test_items_of_many_batches_are_acked_in_their_order(fanin, monkeypatch, server_allows):
    """Also by a client that expects the server to take more in a request than it does."""
    monkeypatch.setattr(acking, "BATCHES_MAX", server_allows)
    monkeypatch.setattr(acking, "PAGES_MAX", {SUCCESS: 1000, FAILURE: 250})
    batches = [fanin.open() for _ in range(110)]
    items = [item for batch in batches for item in batch.add(1)]
    report = fanin.ack(items + items[:5])

    assert [one.item_id for one in report.results] == items + items[:5]
    assert [one.verdict for one in report.results] == [Verdict.ACCEPTED] * 110 + [Verdict.DUPLICATE] * 5


@pytest.fixture
def wide_pages(tracker, monkeypatch):
    """A request that is bounded by nothing but its items and its bytes."""
    tracker.page_bits = 1024
    monkeypatch.setattr(acking, "PAGES_MAX", {SUCCESS: 1000, FAILURE: 1000})


@pytest.mark.usefixtures("wide_pages")
def test_failures_whose_reasons_fill_more_than_one_body_are_sent_in_parts(fanin):
    with fanin.open() as batch:
        items = batch.add(1000)

    report = fanin.fail(list(items), "\U0001f4a5" * 512)

    assert [one.item_id for one in report.results] == list(items)
    assert fanin.status(items.batch_id).failed == 1000


def test_client_and_api_agree_on_the_bytes_of_a_body():
    assert BODY_MAX == admission.BODY_MAX


def test_ranges_that_touch_become_one(fanin):
    items = fanin.open().add(30)
    whole = Items.between(items.batch_id, items.group_id, 4, 9)

    assert merged(items[7:10], items[4:7], items[20:21]) == (whole, items[20:21])
    assert merged() == ()


COUNT = 150_000


@pytest.mark.usefixtures("wide_pages")
@pytest.mark.parametrize("call", ["ack", "fail"])
def test_items_of_an_add_are_sent_as_ranges(fanin, call):
    batch = fanin.open()
    report = getattr(fanin, call)(batch.add(COUNT))

    ranges = [(each.first, each.last, dict(each.counts)) for each in report.ranges]
    assert ranges == [
        (0, 99_999, {Verdict.ACCEPTED: 100_000}),
        (100_000, COUNT - 1, {Verdict.ACCEPTED: 50_000}),
    ]
    assert report.results == ()
    status = batch.status()
    assert (status.acked, status.failed) == (COUNT, COUNT if call == "fail" else 0)
