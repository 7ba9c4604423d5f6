"""The client for asyncio: the same calls and errors, and no thread that works after a cancellation."""

from __future__ import annotations

import asyncio
import gc
import inspect
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from weakref import ref

import pytest
from urllib3.util import parse_url

from fanin import AsyncFanin, AsyncQueue, Fanin, InvalidRequest, Queue, State
from fanin.client.aio import calls
from fanin.client.aio.connections import NoTurn, Pool, Target
from fanin.client.queues.queue_calls import QueueCalls
from fanin.client.timer import Timer
from fanin.client.transports.direct import DirectTransport
from fanin.client.transports.http import HttpTransport
from fanin.client.waiting import Waiting
from fanin.queue.interface import WorkersQueue
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


SYNCHRONOUS = {"answer", "bounded", "close", "separate", "sweep"}
"""Calls of a queue for Lambda and the sweep, and what ``async with`` and ``AsyncQueue`` itself do."""


@pytest.mark.parametrize(
    ("kinds", "kind"), [((Fanin, Waiting, QueueCalls), AsyncFanin), ((Queue, WorkersQueue), AsyncQueue)]
)
def test_every_call_is_there_with_the_same_arguments(kinds, kind):
    own = {name: call for each in kinds for name, call in vars(each).items() if inspect.isfunction(call)}
    names = {name for name in own if not name.startswith("_")} - SYNCHRONOUS
    names |= {"close"} if kind is AsyncFanin else set()  # of a batch

    assert {name for name in names if hasattr(kind, name)} == names
    for name in names:
        parameters = inspect.signature(getattr(kind, name)).parameters
        assert [*parameters] == [*inspect.signature(own[name]).parameters]


def threads():
    return {each for each in threading.enumerate() if each.name.startswith("asyncio")}


def test_over_http_many_calls_share_a_few_connections_and_take_no_thread(service):
    async def work():
        client = AsyncFanin(service.url, connections=5)
        async with client.open() as batch:
            items = await batch.add(60)
        before = threads()  # the first call of a client makes its transport in one
        await asyncio.gather(*(client.ack([item]) for item in items))
        return await batch.wait(), threads() - before

    ended, added = asyncio.run(work())

    assert (ended.result, ended.acked) == ("succeeded", 60)
    assert len({request.peer for request in service.seen if request.path == "/v1/acks"}) in range(2, 6)
    assert added == set()


def held(service):
    """Let the next request wait for the test; return what says that it arrived, and what lets it go on."""
    arrived, go_on = threading.Event(), threading.Event()

    def wait(serve):
        arrived.set()
        assert go_on.wait(60)
        return serve()

    service.faults.append(wait)
    return arrived, go_on


def test_a_cancelled_request_ends_at_once_and_its_connection_answers_no_other_request(service):
    async def work():
        client = AsyncFanin(service.url, connections=1)
        batch = await client.open()
        items = await batch.add(2)
        arrived, go_on = held(service)
        acking = asyncio.create_task(client.ack(items[:1]))
        await asyncio.to_thread(arrived.wait, 60)
        acking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await acking
        go_on.set()
        return await batch.status()

    assert asyncio.run(work()).state is State.OPEN
    assert len({request.peer for request in service.seen}) == 2


def test_over_http_too_a_cancelled_open_leaves_no_open_batch(service):
    async def work():
        arrived, go_on = held(service)
        opening = asyncio.create_task(in_block(AsyncFanin(service.url)))
        await asyncio.to_thread(arrived.wait, 60)
        opening.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(work())

    assert [batch.state for batch in Fanin(service.url).batches()] == [State.CANCELLED]


def test_a_request_that_gets_no_connection_in_time_gives_up_its_turn(service):
    async def work():
        pool, url = Pool(1), parse_url(service.url)
        target = Target(url.host, url.port, is_tls=False)
        first = await pool.taken(target, 60, 60)
        with pytest.raises(NoTurn):
            await pool.taken(target, 60, 0.01)
        pool.give_back(first)
        again = await pool.taken(target, 60, 60)
        pool.give_back(again)
        pool.close()
        return first is again

    assert asyncio.run(work())


class Sign:
    """A signature whose credentials may have to be refreshed."""

    def __init__(self):
        self.threads, self.blocks = [], True

    def may_block(self):
        return self.blocks

    def __call__(self, method, url, body, headers):
        self.threads.append(threading.current_thread())
        self.blocks = False
        return {**headers, "X-Signed": "yes"}


def test_credentials_are_refreshed_in_a_thread_and_other_signatures_made_at_once(service):
    sign = Sign()

    async def work():
        batch = await AsyncFanin(Fanin(HttpTransport(service.url, sign=sign))).open()
        await batch.status()

    asyncio.run(work())

    assert [each is threading.main_thread() for each in sign.threads] == [False, True]
    assert {request.headers["x-signed"] for request in service.seen} == {"yes"}


def test_without_the_extra_calls_run_in_threads_and_say_so_once(service, monkeypatch, caplog):
    monkeypatch.setitem(__import__("sys").modules, "fanin.client.aio.exchange", None)
    calls._warn.cache_clear()

    async def work():
        async with AsyncFanin(service.url).open() as batch:
            await batch.ack(await batch.add(3))
        return await batch.wait()

    assert asyncio.run(work()).result == "succeeded"
    assert [record.message for record in caplog.records if "fanin[async]" in record.message] != []


@pytest.mark.parametrize("more", [b"", b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"])
def test_a_connection_that_the_peer_ended_or_wrote_to_is_not_used_again(more):
    async def peer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.write(more)
        writer.close()

    async def work():
        server = await asyncio.start_server(peer, "127.0.0.1", 0)
        pool, target = Pool(1), Target(*server.sockets[0].getsockname(), is_tls=False)
        connections = []
        for _ in range(2):
            connections.append(await pool.taken(target, 60, 60))
            assert (await connections[-1].exchanged("GET", "/", {}, None, 60))[0] == 200
            pool.give_back(connections[-1])
            await asyncio.sleep(0.1)
        pool.close()
        server.close()
        return len({*connections})

    assert asyncio.run(work()) == 2


def test_a_client_goes_with_its_caller_to_other_loops_threads_and_processes(service):
    client = AsyncFanin(service.url, connections=1)
    loops = []

    async def work():
        loops.append(ref(asyncio.get_running_loop()))
        batches = await asyncio.gather(*(client.open() for _ in range(3)))
        status = partial(client.sync.status, batches[0].id)
        with ThreadPoolExecutor() as pool:
            return await client.call(lambda: pool.submit(copy_context().run, status).result())

    for _ in range(3):
        assert asyncio.run(work()).state is State.OPEN
    gc.collect()
    assert [each() for each in loops[:-1]] == [None, None]
    copy = pickle.loads(pickle.dumps(client))  # noqa: S301  # our own
    assert repr(copy) == repr(client) == f"<AsyncFanin {service.url}>"


def test_what_is_never_awaited_is_refused_or_warned_of(client):
    async def work():
        with pytest.warns(RuntimeWarning, match="opened' was never awaited"):
            client.open()
        with pytest.raises(InvalidRequest, match="await"):
            await client.call(client.status, "b")

    asyncio.run(work())
    assert [*client.sync.batches()] == []
