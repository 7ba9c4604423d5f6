"""Queues in memory whose clock, heartbeats, doorbell and sweeps a test moves by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

import fanin as client
from fanin.client.queues.direct_queue import DirectQueue
from fanin.errors import StoreUnavailable
from fanin.queue import Effects, Job, MemoryDoorbell, NewJob, Options, Queue, QueueContext, QueueKey
from fanin.queue.maintenance.sleeping import SETTLE_SECONDS
from fanin.queue.maintenance.visiting import visit
from fanin.queue.memory import MemoryStore
from fanin.queue.producer import Producer
from fanin.queue.rules.model import OnBusy
from fanin.queue.sessions.background import Duty
from fanin.queue.sessions.claims import Claims
from fanin.queue.sessions.session import Session, enter
from tests.scripted import Scripted

KEY = QueueKey("tenant", "orders")
OUTCOME = {"Put": {"TableName": "Outcomes", "Item": {"id": {"S": "1"}}}}
START = 1_772_366_400_000_000


@dataclass
class Time:
    """Both clocks of all processes, in microseconds since the start."""

    passed: int = 0

    def now(self) -> int:
        return START + self.passed

    def monotonic(self) -> float:
        return self.passed / 1_000_000

    def sleep(self, seconds: float) -> None:
        self.passed += round(seconds * 1_000_000)


@dataclass
class Duties:
    """What the processes of a test would do in the background, done when the test says so."""

    time: Time
    of: dict[int, list[Duty]] = field(default_factory=dict)

    def background(self) -> Callable[[Sequence[Duty]], Callable[[], None]]:
        number = len(self.of)
        self.of[number] = []

        def start(duties: Sequence[Duty]) -> Callable[[], None]:
            self.of[number] = list(duties)

            def stop() -> None:
                self.of[number] = []

            return stop

        return start

    def pass_seconds(self, seconds: int, without: tuple[int, ...] = ()) -> None:
        """Let the time pass, a heartbeat a second, while the processes *without* lie still."""
        for _ in range(seconds):
            self.time.sleep(1)
            for number, duties in self.of.items():
                if number not in without:
                    self.of[number] = [duty for duty in duties if duty.do()]


class Counting(MemoryStore):
    """Notes the requests that it gets."""

    def __getattribute__(self, name: str):
        found = super().__getattribute__(name)
        if callable(found) and not name.startswith("_") and name not in {"admits", "requests"}:
            super().__getattribute__("__dict__").setdefault("requests", []).append(name)
        return found


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def duties(time: Time) -> Duties:
    return Duties(time)


@pytest.fixture
def store() -> Counting:
    return Counting()


@pytest.fixture
def bell() -> MemoryDoorbell:
    return MemoryDoorbell()


@pytest.fixture
def make(store, bell, time, duties):
    """Makes the queue of one process: by default with one part, so with one order."""
    ids = iter(range(10**6))

    def create(**more) -> Queue:
        options = {"parts": 1} | more
        effects = Effects(
            now=time.now,
            monotonic=time.monotonic,
            new_id=lambda: f"{next(ids):06d}",
            pause=lambda _: None,
            each=lambda call, values: [call(value) for value in values],
        )
        report = options.pop("report", None)
        return Queue(QueueContext(store, bell, KEY, Options(**options), effects, report), duties.background())

    return create


@pytest.fixture
def queue(make) -> Queue:
    return make()


def shown(worker: Queue) -> client.Queue:
    """The queue of *worker* as a client shows it."""
    return client.Queue(worker.key.name, lambda: DirectQueue(worker, None), worker)


def expects(error: type[BaseException]) -> pytest.RaisesExc:
    """The error of a whole scope, which takes several statements to bring about."""
    return pytest.raises(error)


def names(jobs) -> list[str]:
    return [job.name if hasattr(job, "name") else job.key for job in jobs]


def unavailable(*_):
    """A request to a store that is out of reach."""
    raise StoreUnavailable("out of reach")


class Boom(Exception):
    """The work fails."""


def fail(queue: Queue, most: int = 1, error: type[BaseException] = Boom) -> list[Job]:
    """Take jobs and fail on them; what was taken."""
    taken: list[Job] = []
    with expects(error), queue.take(most) as jobs:
        taken += jobs
        raise error
    return taken


def session_of(queue: Queue) -> Session:
    return queue.taker.worker.session


@dataclass
class Bell:
    """A doorbell that notes its rings."""

    rung: list[tuple[int, bool, float]] = field(default_factory=list)

    def at(self, _):
        return self

    def ring(self, rings, delay=0.0):
        self.rung += [(ring.part, ring.due, delay) for ring in rings]


class Bench:
    """The claims of one session on a queue of one part, whose store notes its requests."""

    def __init__(self, **options):
        ids = iter(range(10**6))
        self.time, self.bell, self.store, self.pauses = Time(), Bell(), Scripted(MemoryStore()), []
        effects = Effects(
            now=self.time.now,
            monotonic=self.time.monotonic,
            new_id=lambda: f"{next(ids):06d}",
            pause=self.pauses.append,
            each=lambda call, values: [call(value) for value in values],
        )
        facts = {"parts": 1} | options
        self.context = QueueContext(self.store, self.bell, KEY, Options(**facts), effects)
        self.session = enter(self.context, None)
        self.claims = Claims(self.context, self.session)

    def add(self, *jobs, **facts):
        Producer(self.context).add_all([NewJob(job, **facts) for job in jobs], OnBusy.RERUN)
        self.forget()

    def take(self, *jobs):
        """Add and claim *jobs*."""
        self.add(*jobs)
        taken = self.claims.take([0], len(jobs))
        self.forget()
        return taken

    def forget(self):
        self.store.requests.clear()
        self.bell.rung.clear()
        self.pauses.clear()

    def stored(self, job):
        return self.store.real.get(job.key)


class Recorded:
    """The doorbells that were deleted."""

    def __init__(self):
        self.urls = []

    def delete(self, queue, url):
        self.urls.append((queue, url))


def swept(queue, time, doorbells=None):
    """Visit the queue until it has settled, and then as often as a removal takes."""
    for _ in range(2):
        visit(queue.context, doorbells)
        time.sleep(SETTLE_SECONDS)
    for _ in range(3):
        visit(queue.context, doorbells)


@pytest.fixture
def bench() -> Bench:
    return Bench()
