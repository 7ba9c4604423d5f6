"""wait returns at any end of a batch and polls seldom; watch yields what changed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from fanin import AsyncFanin, Fanin, InvalidRequest, NotFound, State, StoreUnavailable
from fanin.client import waiting
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from tests.client.conftest import TENANT


class Time(waiting.Timer):
    """A clock that sleeping moves; *after*: what happens once so many seconds have passed."""

    def __init__(self, chance: float = 0.0) -> None:
        self.passed = 0.0
        self.drawn = chance
        self.after: list[tuple[float, object]] = []

    def now(self) -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed

    def chance(self) -> float:
        return self.drawn

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.passed += seconds
        while self.after and self.after[0][0] <= self.passed:
            self.after.pop(0)[1]()

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


class Counted(DirectTransport):
    """Notes when each request was sent."""

    def __init__(self, tracker, timer):
        super().__init__(tracker, TENANT)
        object.__setattr__(self, "timer", timer)
        object.__setattr__(self, "sent", [])

    def poll(self, batch_id):
        self.sent.append(("poll", self.timer.passed))
        return super().poll(batch_id)

    def get(self, batch_id):
        self.sent.append(("get", self.timer.passed))
        return super().get(batch_id)


@pytest.fixture(params=[0.0, 0.999])
def timer(request, monkeypatch) -> Time:
    time = Time(request.param)
    monkeypatch.setattr(waiting, "REAL", time)
    return time


@pytest.fixture
def transport(timer) -> Counted:
    return Counted(Tracker(MemoryStore(), page_bits=4, now=timer.now, pause=lambda _: None), timer)


@pytest.fixture
def fanin(transport) -> Fanin:
    return Fanin(transport)


@pytest.fixture
def batch(fanin):
    with fanin.open("waited for") as batch:
        batch.add(6)
    return batch


def acked(fanin, batch, count: int):
    """Ack *count* of what is left."""
    (outstanding, *_) = batch.outstanding()
    return lambda: fanin.ack(outstanding[:count])


def test_wait_returns_the_status_of_the_end_with_its_progress(fanin, batch, timer, transport):
    timer.after = [(30, acked(fanin, batch, 6))]

    status = batch.wait()

    assert (status.state, status.result, status.acked) == (State.COMPLETE, "succeeded", 6)
    assert 30 <= timer.passed <= 36
    assert {call for call, _ in transport.sent[:-1]} == {"poll"}
    assert transport.sent[-1][0] == "get"


@pytest.mark.parametrize(
    "wait",
    [Fanin.wait, lambda *args: asyncio.run(AsyncFanin(args[0]).wait(*args[1:]))],
    ids=["sync", "async"],
)
def test_the_first_minute_takes_20_requests_and_each_later_one_12(fanin, batch, timer, transport, wait):
    with pytest.raises(TimeoutError, match=f"batch {batch.id} has not ended within 600 s"):
        wait(fanin, batch.id, 600)

    by_minute = [0] * 11
    for _, at in transport.sent:
        by_minute[int(at // 60)] += 1
    assert by_minute[0] <= 20
    assert max(by_minute[1:10]) <= 12
    assert by_minute[10] == 1
    assert timer.passed == 600


def test_outages_shorter_than_eight_looks_are_waited_out(fanin, batch, transport, monkeypatch):
    lost = [True] * 7 + [False] + [True] * 7
    look = transport.poll

    def poll(transport, batch_id):
        if lost and lost.pop(0):
            out_of_reach()
        if not lost:
            fanin.ack_ranges(list(batch.outstanding()))
        return look(batch_id)

    monkeypatch.setattr(Counted, "poll", poll)

    assert batch.wait().is_complete


def out_of_reach():
    raise StoreUnavailable("out of reach")


@pytest.mark.parametrize("call", ["wait", "watch"])
def test_a_wait_in_its_own_block_is_refused_before_anything_is_sent(fanin, transport, call):
    with fanin.open() as batch, pytest.raises(InvalidRequest, match="wait after the block"):
        getattr(batch, call)()

    assert transport.sent == []


def test_watch_yields_each_change_once_and_ends_with_the_end(fanin, batch, timer):
    timer.after = [(20, acked(fanin, batch, 2)), (40, lambda: fanin.ack_ranges(list(batch.outstanding())))]

    seen = [(status.acked, status.state) for status in batch.watch()]

    assert seen == [(0, "CLOSED"), (2, "CLOSED"), (6, "COMPLETE")]


BY_NAME = {
    "wait": lambda fanin, name: [fanin.wait(name)],
    "watch": lambda fanin, name: list(fanin.watch(name)),
    "async wait": lambda fanin, name: [asyncio.run(AsyncFanin(fanin).wait(name))],
    "async watch": lambda fanin, name: asyncio.run(_listed(AsyncFanin(fanin).watch(name))),
}


async def _listed(found):
    return [each async for each in found]


@pytest.mark.parametrize("waits", BY_NAME.values(), ids=BY_NAME)
def test_a_batch_is_waited_for_by_its_user_key_too(fanin, batch, waits):
    acked(fanin, batch, 6)()

    assert waits(fanin, "waited for")[-1].batch_id == batch.id
    with pytest.raises(NotFound, match="there is no batch with the user key 'nosuch'"):
        waits(fanin, "nosuch")


@pytest.mark.parametrize("call", ["wait", "watch"])
@pytest.mark.parametrize("timeout", [-1, True, "5", timedelta(seconds=-1), float("nan")])
def test_a_timeout_is_seconds(fanin, call, timeout):
    with pytest.raises(InvalidRequest, match="timeout is a number of seconds"):
        getattr(fanin, call)("00000000-0000-8000-8000-000000000000", timeout)


def test_an_outage_of_eight_looks_is_raised(batch, monkeypatch):
    monkeypatch.setattr(Counted, "poll", lambda self, batch_id: out_of_reach())

    with pytest.raises(StoreUnavailable, match="out of reach"):
        batch.wait()
