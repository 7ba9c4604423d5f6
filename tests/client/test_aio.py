"""The client for asyncio: the same calls and errors, and no thread that works after a cancellation."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

from fanin import AsyncFanin, Fanin, State
from fanin.client.timer import Timer
from fanin.client.transports.direct import DirectTransport
from fanin.client.waiting import Waiting
from tests.client.conftest import TENANT


@pytest.fixture
def client(fanin) -> AsyncFanin:
    return AsyncFanin(fanin)


def test_a_cancelled_wait_ends_at_once_and_leaves_no_thread(client, monkeypatch):
    before = set(threading.enumerate())
    monkeypatch.setattr(Timer, "sleep", None)  # a pause is none of a thread

    async def work():
        batch = await client.open()
        waits = [asyncio.create_task(batch.wait()) for _ in range(20)]
        await asyncio.sleep(0.05)
        for each in waits:
            each.cancel()
        return await asyncio.gather(*waits, return_exceptions=True)

    ends = asyncio.run(work())

    assert {type(each) for each in ends} == {asyncio.CancelledError}
    assert {each for each in threading.enumerate() if each.name.startswith("asyncio")} <= before


class Slow:
    """A transport that answers its requests of one kind when the test says so."""

    def __init__(self, tracker, kind):
        self.target, self.kind = DirectTransport(tracker, TENANT), kind
        self.asked, self.answer = threading.Event(), threading.Event()

    def __getattr__(self, name):
        request = getattr(self.target, name)

        def slow(*args):
            answer = request(*args)
            self.asked.set()
            assert self.answer.wait(60)
            return answer

        return slow if name == self.kind else request

    async def cancels(self, coroutine):
        """Cancel a coroutine while its request is in progress; return its end, the cancellation."""
        running = asyncio.create_task(coroutine)
        await asyncio.to_thread(self.asked.wait, 60)
        running.cancel()
        await asyncio.sleep(0.01)
        assert not running.done()
        self.answer.set()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await running
        return cancelled.value


def test_a_cancellation_during_a_request_is_raised_after_its_answer(tracker):
    slow = Slow(tracker, "poll")

    async def work():
        batch = await AsyncFanin(Fanin(slow)).open()
        await slow.cancels(batch.wait())

    asyncio.run(work())


async def in_block(client, **options):
    async with client.open(**options):
        raise AssertionError("the block was entered")


async def awaited(client, **options):
    await client.open(**options)


@pytest.mark.parametrize("opens", [in_block, awaited])
def test_a_cancelled_open_leaves_no_open_batch(tracker, opens):
    slow = Slow(tracker, "open")
    fanin = Fanin(slow)
    cancelled = asyncio.run(slow.cancels(opens(AsyncFanin(fanin))))
    (batch,) = fanin.batches()

    assert (batch.state, batch.reason) == (State.CANCELLED, "CancelledError:")
    assert cancelled.__notes__ == [f"batch {batch.batch_id} is CANCELLED: its block raised"]


def test_a_cancelled_open_under_a_key_is_gone_on_with(tracker):
    slow = Slow(tracker, "open")
    fanin = Fanin(slow)
    cancelled = asyncio.run(slow.cancels(in_block(AsyncFanin(fanin), key="load/1")))
    batch = fanin.open(key="load/1")

    assert batch.status().state is State.OPEN
    assert batch.id in cancelled.__notes__[0]


def test_every_call_about_batches_is_there_with_the_same_arguments():
    own = {name: call for name, call in vars(Fanin).items() if inspect.isfunction(call)}
    own |= {name: call for name, call in vars(Waiting).items() if inspect.isfunction(call)}
    names = {name for name in own if not name.startswith("_")}

    assert {name for name in names if hasattr(AsyncFanin, name)} == names
    for name in names:
        parameters = inspect.signature(getattr(AsyncFanin, name)).parameters
        assert [*parameters] == [*inspect.signature(own[name]).parameters]
