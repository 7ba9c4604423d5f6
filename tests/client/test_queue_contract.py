"""A work queue of the client over HTTP, on its table and of a fake: the same answers, in one dialect."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from fanin import (
    AsyncFanin,
    AsyncQueue,
    Conflict,
    Fanin,
    InvalidRequest,
    NewJob,
    NotFound,
    Options,
    Queue,
    RejectedJob,
    Tables,
)
from fanin.client.queues import over_http as requests
from fanin.queue import MemoryDoorbell, QueueContext, QueueKey
from fanin.queue import Queue as Rows
from fanin.queue.memory import MemoryStore
from fanin.testing import FakeFanin
from functions.wiring import queueing
from tests.client.conftest import TENANT
from tests.client.test_queues import AT, PREFIX, api, direct, table  # noqa: F401  # fixtures
from tests.queue.conftest import shown

OPTIONS = Options(parts=2, max_failures=1)
PAYLOADS = ["text", "7", 7, 1.5, False, [1, None], {"é": {"n": [1]}}, None]


class Boom(Exception):
    """The work fails."""


@dataclass
class Sides:
    """One queue: as an application has it, *queue*, and as its worker does."""

    queue: Queue
    worker: Queue

    def die(self, *keys: str) -> None:
        self.worker.add_all(keys)
        for _ in keys:
            with suppress(Boom), self.worker.take(1, wait=0):
                raise Boom


@pytest.fixture
def in_memory(monkeypatch, service):
    """The queues of the handlers, in memory."""
    store = MemoryStore()

    def opened(key, creator=None):
        context = QueueContext(store, MemoryDoorbell(), key, OPTIONS, creator=creator)
        return Rows(context, background=lambda _: lambda: None)

    class Names:
        """The queues of a tenant."""

        def of_tenant(self, tenant, after, limit):
            keys = [key for key in store.configs if key.tenant == tenant and key.name > (after or "")]
            return sorted(keys, key=str)[:limit]

        def seen(self, keys):
            return {key: (store.configs[key], None) for key in keys}

    monkeypatch.delenv("FANIN_QUEUE_TABLE", raising=False)
    monkeypatch.setattr(queueing, "_queue", opened)
    monkeypatch.setattr(queueing, "creator", lambda: None)
    monkeypatch.setattr(queueing, "registry", Names)
    queueing.created.cache_clear()
    yield opened
    queueing.created.cache_clear()


@dataclass
class Awaited:
    """A queue for coroutines, each of whose calls is awaited to its end on one event loop."""

    queue: AsyncQueue
    runner: asyncio.Runner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def ended(found: Any) -> Any:
            return await found if isinstance(found, Awaitable) else [each async for each in found]

        return lambda *args, **more: self.runner.run(ended(getattr(self.queue, name)(*args, **more)))


@pytest.fixture(params=["fake", "direct", "http", "asyncio"])
def sides(request) -> Iterator[Sides]:
    if request.param == "asyncio":
        created = request.getfixturevalue("in_memory")
        queue = AsyncFanin(request.getfixturevalue("service").url).queue("thumbs")
        with asyncio.Runner() as runner:
            yield Sides(Awaited(queue, runner), shown(created(QueueKey(TENANT, "thumbs"))))
            runner.run(queue.__aexit__(None, None, None))
        assert [each for each in threading.enumerate() if each.name.startswith("thumbs")] == []
        return
    if request.param == "http":
        created = request.getfixturevalue("in_memory")
        queue = request.getfixturevalue("over_http").queue("thumbs")
        yield Sides(queue, shown(created(QueueKey(TENANT, "thumbs"))))
        return
    if request.param == "fake":
        queue = FakeFanin().queue("thumbs", options=replace(OPTIONS, renew=True))
    else:
        fanin, _ = request.getfixturevalue("direct"), request.getfixturevalue("table")
        queue = fanin.queue("thumbs", replace(AT, doorbell_prefix=PREFIX), OPTIONS)
    with queue:
        yield Sides(queue, queue)


def adds(sides: Sides) -> Any:
    added = sides.queue.add("a", {"w": 80}), sides.queue.add("a")
    rejected = sides.queue.add_all(["b", NewJob("late", delay=60), "a", NewJob("z", "text", priority=9)])
    return added, rejected, [(job.key, job.payload) for job in sides.queue.jobs()]


def repeats(sides: Sides) -> Any:
    same = [NewJob("a", id="one"), NewJob("a", id="one")]
    return [sides.queue.add(job) for job in (*same, NewJob("a", id="two"))]


def lists(sides: Sides) -> Any:
    sides.queue.add_all([NewJob("late", delay=60), "a", "b"])
    with sides.worker.take(1, wait=0):
        (busy,), (late,) = sides.queue.jobs("inProgress"), sides.queue.jobs("delayed")
        (session,) = sides.queue.sessions()
        status = sides.queue.status()
    times = (busy.added_at, late.due_at, session.started_at, status.counted_at)
    assert {(type(at), at.tzinfo) for at in times} == {(datetime, UTC)}
    counts = status.queued, status.in_progress, status.delayed, status.dead, status.accuracy
    return (busy.state, busy.deliveries, late.state, late.due_at > late.added_at), session.kind, counts


def dies_and_is_revived(sides: Sides) -> Any:
    sides.die("a", "b", "c")
    dead = {job.key: job for job in sides.queue.jobs("dead")}
    assert "Boom" in dead["a"].error
    assert dead["a"].died_at.tzinfo is UTC
    sides.queue.add("b")
    some = sides.queue.revive([dead["a"].dead_id, dead["b"].dead_id])
    deleted = sides.queue.delete(["b", "none"], dead_ids=[dead["b"].dead_id])
    every = sides.queue.revive_all()
    reasons = list(some.not_revived.values())
    outcomes = deleted.jobs, list(deleted.dead.values())
    return some.revived, reasons, every.revived, outcomes, sorted(job.key for job in sides.queue.jobs())


def pauses_and_is_removed(sides: Sides) -> Any:
    sides.queue.add("a")
    sides.queue.pause()
    paused = sides.queue.status().paused
    sides.queue.resume()
    with pytest.raises(Conflict):
        sides.queue.remove()
    sides.queue.remove(force=True)
    with pytest.raises(Conflict):
        sides.queue.add("b")
    return paused, sides.queue.status().paused, sides.queue.status().activity


def is_missing(sides: Sides) -> Any:
    calls: list[Callable[[], Any]] = [sides.queue.status, sides.queue.pause, sides.queue.revive_all]
    for call in (*calls, lambda: list(sides.queue.jobs()), lambda: sides.queue.delete(["a"])):
        with pytest.raises(NotFound, match="'thumbs'"):
            call()


CASES: dict[Callable[[Sides], Any], Any] = {
    adds: (
        (True, False),
        (RejectedJob(key="a", state="queued"),),
        [("z", "text"), ("a", {"w": 80}), ("b", None)],
    ),
    repeats: [True, True, False],
    lists: (("inProgress", 1, "delayed", True), "worker", (1, 1, 1, 0, "exact")),
    dies_and_is_revived: (
        1,
        ["liveJob"],
        1,
        ({"b": "deleted", "none": "notFound"}, ["deleted"]),
        ["a", "c"],
    ),
    pauses_and_is_removed: (True, False, "removing"),
    is_missing: None,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_each_way_to_a_queue_gives_the_same_answers(sides, case):
    assert case(sides) == CASES[case]


def pickled(queue: Any) -> Any:
    return pickle.loads(pickle.dumps(queue))  # noqa: S301  # our own bytes


@pytest.mark.usefixtures("in_memory")
def test_a_pickled_queue_over_http_connects_anew(service):
    queue = Fanin(service.url).queue("thumbs")
    assert pickled(queue).add("a")
    assert asyncio.run(pickled(AsyncFanin(service.url).queue("thumbs")).add("b"))
    assert queue.status().queued == 2


@pytest.mark.usefixtures("table")
def test_a_pickled_queue_of_a_worker_has_its_table_options_and_a_session_of_its_own():
    at = replace(AT, doorbell_prefix=PREFIX)
    with Fanin.direct(Tables("b", "p"), TENANT).queue("thumbs", at, OPTIONS) as queue, pickled(queue) as copy:
        queue.add_all(["a", "b"])
        with queue.take(1, 0, [0, 1]), copy.take(1, 0, [0, 1]) as jobs:
            assert [job.key for job in jobs] == ["b"]
            assert len({session.id for session in queue.sessions()}) == 2


def test_a_queue_of_a_fake_is_not_pickled_and_says_so():
    with pytest.raises(InvalidRequest, match="in the memory of one process"):
        pickled(FakeFanin().queue("thumbs"))


def test_a_worker_gets_each_payload_as_it_was_added(sides):
    sides.queue.add_all([NewJob(str(n), payload) for n, payload in enumerate(PAYLOADS)])
    with sides.worker.take(10, wait=0) as jobs:
        taken = {job.key: job for job in jobs}
        ended = jobs.ack(jobs[0])

    assert [taken[str(n)].payload for n in range(len(PAYLOADS))] == PAYLOADS
    assert (taken["0"].state, type(taken["0"].added_at), bool(taken["0"].claim)) == (
        "inProgress",
        datetime,
        True,
    )
    assert (ended.key, ended.state) == (jobs[0].key, "done")


def test_a_client_of_the_api_alone_says_what_a_worker_needs(over_http, in_memory):
    with over_http.queue("thumbs") as queue:
        assert queue.add("a")
        for call in (
            lambda: over_http.queue("thumbs", options=OPTIONS),
            queue.take,
            queue.stream,
            queue.sweep,
            lambda: queue.bounded(1).__enter__(),
        ):
            with pytest.raises(InvalidRequest, match=r"FANIN_QUEUE_TABLE.*FANIN_TENANT.*AWS credentials"):
                call()


def test_large_adds_are_several_requests(over_http, in_memory, service, monkeypatch):
    monkeypatch.setattr(requests, "BYTES_A_REQUEST", 6000)
    queue = over_http.queue("thumbs")
    rejected = queue.add_all(
        [*(NewJob(str(n), "x" * 1000) for n in range(5)), *"abc", "0", *map(str, range(9, 320))]
    )

    assert [each.key for each in rejected] == ["0"]
    sizes = [(len(each.body), len(json.loads(each.body)["jobs"])) for each in service.seen]
    assert max(sizes) < (7000, 0)
    assert max(jobs for _, jobs in sizes) == 100
    assert len(list(queue.jobs())) == 319


def test_queues_are_listed_over_all_pages(over_http, in_memory):
    names = [f"q{number:02}" for number in range(45)]
    for name in names:
        in_memory(QueueKey(TENANT, name)).add("a")
    found = list(over_http.queues())
    status = over_http.queue("q00").status()

    assert [each.name for each in found] == names
    assert found[0] == replace(status, oldest_seconds=found[0].oldest_seconds, counted_at=found[0].counted_at)
    assert (found[0].queued, found[0].activity, found[0].accuracy) == (1, "inUse", "exact")


def test_more_dead_jobs_than_a_request_takes_are_revived(over_http, in_memory):
    worker = shown(in_memory(QueueKey(TENANT, "thumbs")))
    Sides(worker, worker).die(*(f"job {i:03}" for i in range(105)))
    queue = over_http.queue("thumbs")
    some = queue.revive([each.dead_id for each in list(queue.jobs("dead"))[:102]])

    assert (some.revived, queue.revive_all().revived) == (102, 3)


def test_a_direct_client_lists_no_queues(direct):  # noqa: F811
    with pytest.raises(InvalidRequest, match="over HTTP"):
        list(direct.queues())


def test_a_direct_client_without_a_table_says_which_variables_it_needs(direct, monkeypatch):  # noqa: F811
    monkeypatch.delenv("FANIN_QUEUE_TABLE", raising=False)
    with pytest.raises(InvalidRequest, match="FANIN_QUEUE_TABLE"):
        direct.queue("thumbs")
    assert repr(Fanin("http://127.0.0.1:1").queue("thumbs")) == "<Queue thumbs>"
