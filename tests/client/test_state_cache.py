"""The state of a batch as a consumer asks for it: one request in some seconds, none for a final state."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin import BatchEnded, Fanin, State
from fanin.client.transports.direct import DirectTransport
from fanin.client.transports.state_cache import FRESH_SECONDS, States
from fanin.tracker import OpenBatch, Tracker
from fanin.tracker.memory import MemoryStore
from tests.client.conftest import TENANT, sqs_event

UNKNOWN = "00000000-0000-4000-8000-00000000dead"


def test_each_transport_returns_the_state_and_none_for_no_batch_of_the_tenant(fanin):
    live, ended = fanin.open(), fanin.open()
    ended.cancel()

    assert fanin._transport.state_of(live.id) is State.OPEN
    assert fanin._transport.state_of(ended.id) is State.CANCELLED
    assert fanin._transport.state_of(UNKNOWN) is None


ENDS = {
    "cancel": lambda fanin, batch, items: batch.cancel(),
    "end": lambda fanin, batch, items: batch.end("stuck"),
    "ack": lambda fanin, batch, items: fanin.ack(items),
    "ack_ranges": lambda fanin, batch, items: fanin.ack_ranges([items]),
    "fail": lambda fanin, batch, items: fanin.fail(items[:1]),
    "status": lambda fanin, batch, items: (batch.cancel_elsewhere(), fanin.status(batch.id)),
    "wait": lambda fanin, batch, items: (batch.cancel_elsewhere(), batch.wait(timeout=1)),
    "a refused ack": lambda fanin, batch, items: (batch.cancel_elsewhere(), fanin.fail(items[:1])),
    "a refused close": lambda fanin, batch, items: (batch.cancel_elsewhere(), refused(batch.close)),
}


def refused(call):
    with pytest.raises(BatchEnded):
        call()


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("transport", ["direct", "http"])
def test_a_process_does_no_work_of_a_batch_whose_end_it_has_seen(transport, end, tracker, over_http):
    cached = Tracker(tracker.store, page_bits=4, pause=lambda _: None)
    fanin = over_http if transport == "http" else Fanin(DirectTransport(cached, TENANT))
    batch = fanin.open(max_failures=1)
    items = batch.add(2)
    if end != "a refused close":
        batch.close()
    batch.cancel_elsewhere = lambda: tracker.cancel(TENANT, batch.id)
    assert fanin._transport.state_of(batch.id) in (State.OPEN, State.CLOSED)
    ENDS[end](fanin, batch, items)
    worked = []
    fanin.acks(worked.append)(sqs_event(items[1]), None)

    assert worked == []


def test_on_the_tables_an_expired_batch_is_not_a_missing_one():
    at = [Tracker(MemoryStore()).now()]
    transport = DirectTransport(Tracker(MemoryStore(), now=lambda: at[0]), TENANT)
    batch = transport.tracker.open(TENANT, OpenBatch()).batch_id
    before = transport.state_of(batch)
    at[0] += timedelta(days=8)

    assert (before, transport.state_of(batch)) == (State.OPEN, State.EXPIRED)


class Clocks:
    """A monotonic and a wall clock, and the answers of a service."""

    def __init__(self, *answers):
        self.now, self.at = 100.0, 5_000.0
        self.answers = list(answers)
        self.states = States(lambda _: self.answers.pop(0), lambda: self.now, lambda: self.at)

    def pass_(self, seconds, wall=None):
        self.now += seconds
        self.at += seconds if wall is None else wall

    def read(self):
        return self.states.of("a batch")


def test_over_http_a_live_batch_is_read_again_after_some_seconds():
    clocks = Clocks(State.OPEN, State.CANCELLED)
    first = clocks.read()
    clocks.pass_(FRESH_SECONDS - 0.1)
    cached = clocks.read()
    clocks.pass_(0.1)

    assert (first, cached, clocks.read()) == (State.OPEN, State.OPEN, State.CANCELLED)


def test_a_suspended_machine_whose_monotonic_clock_stood_still_reads_again():
    clocks = Clocks(State.OPEN, State.CANCELLED)
    clocks.read()
    clocks.pass_(0.0, wall=3600.0)

    assert clocks.read() is State.CANCELLED
