"""``ack`` and ``fail`` of the ``Items`` of an add are sent as ranges, by every client."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from fanin import AsyncFanin, Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.testing import FakeFanin
from fanin.tracker import Tracker, Verdict
from fanin.tracker.memory import MemoryStore
from tests.client.conftest import TENANT

COUNT = 150_000


class Awaited:
    """The calls of an asynchronous client, each run to its end."""

    def __init__(self, client):
        self.client = client

    def __getattr__(self, name):
        async def call(*args, **options):
            return await getattr(self.client, name)(*args, **options)

        return lambda *args, **options: asyncio.run(call(*args, **options))


@pytest.fixture(params=["direct", "http", "fake", "async"])
def client(request):
    if request.param == "http":
        request.getfixturevalue("tracker").page_bits = 1024
        return request.getfixturevalue("over_http")
    tracker = Tracker(MemoryStore(), fresh_for=timedelta(0))
    transport = DirectTransport(tracker, TENANT)
    if request.param == "async":
        return Awaited(AsyncFanin(Fanin(transport)))
    return FakeFanin() if request.param == "fake" else Fanin(transport)


@pytest.mark.parametrize("call", ["ack", "fail"])
def test_items_of_an_add_are_sent_as_ranges(client, call):
    batch = client.open()
    report = getattr(client, call)(client.add(batch.id, COUNT))

    ranges = [(each.first, each.last, dict(each.counts)) for each in report.ranges]
    assert ranges == [
        (0, 99_999, {Verdict.ACCEPTED: 100_000}),
        (100_000, COUNT - 1, {Verdict.ACCEPTED: 50_000}),
    ]
    assert report.results == ()
    status = client.get(batch.id)
    assert (status.acked, status.failed) == (COUNT, COUNT if call == "fail" else 0)


def test_items_with_gaps_are_sent_by_their_ids(client):
    items = client.add(client.open().id, 10)
    report = client.ack(items[::3])

    assert [each.item_id for each in report.results] == list(items[::3])
    assert report.ranges == ()
