"""The event of a completed batch is on the bus when the last ack is answered; else the stream sends it."""

from __future__ import annotations

import pytest

from fanin import Fanin
from fanin.aws import clients
from fanin.settings.tracking import Tables
from fanin.tracker import Ack
from tests.http.test_endings import shown
from tests.polling import eventually


def event_of(api, batch):
    return shown(api, batch, progress="none")["event"]


def test_the_event_is_on_the_bus_before_the_last_ack_is_answered_and_each_copy_is_the_same(api, bus, tracker):
    batch, items = api.opened(6)
    api.close(batch)
    api.ack(*items[:-1])
    assert api.ack(items[-1]) == 1
    assert tracker.is_put(tracker.get("000000000000", batch))
    copies = bus.later(batch, 1)

    event = {"eventId": f"{batch}:COMPLETE", "type": "BatchCompleted", "confirmed": True}
    assert eventually(lambda: event_of(api, batch) == event)
    assert copies
    assert all(each == copies[0] for each in copies)
    assert (copies[0]["eventId"], copies[0]["acked"], copies[0]["outstanding"]) == (f"{batch}:COMPLETE", 6, 0)


def test_a_close_that_completes_puts_the_event_too(api, tracker):
    batch, items = api.opened(2)
    api.ack(*items)
    assert api.close(batch) == 1

    assert tracker.is_put(tracker.get("000000000000", batch))


def test_a_worker_on_the_tables_puts_it_if_it_knows_the_bus_and_leaves_it_to_the_stream_if_not(
    api, bus, run, tracker, monkeypatch
):
    batch, items = api.opened(1)
    api.close(batch)
    tracker.ack("000000000000", [Ack.of(items[0], "worker")])  # of a process that does not know the bus
    assert [each["eventId"] for each in bus.of(batch)][:1] == [f"{batch}:COMPLETE"]

    for name, value in run.environment.items():
        monkeypatch.setenv(name, value)
    for each in (clients.dynamodb, clients.announcements):
        each.cache_clear()
    tables = Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])
    worker = Fanin.direct(tables, "000000000000", page_bits=4, bus=run.outputs["BusName"])
    batch, items = api.opened(1)
    api.close(batch)
    assert worker.ack(items).completions
    for each in (clients.dynamodb, clients.announcements):
        each.cache_clear()

    assert tracker.is_put(tracker.get("000000000000", batch))


@pytest.fixture(autouse=True)
def _fresh_clients():
    yield
    clients.dynamodb.cache_clear()
    clients.announcements.cache_clear()
