"""A group-batcher in this process: a clock that is set, queues drained by hand, an API with set answers."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fanin.grouper import (
    Answer,
    Bundle,
    BundleMessage,
    Call,
    Grouper,
    NewTask,
    Policies,
    Policy,
    Posting,
    Task,
    TaskMessage,
    Timing,
    World,
)
from fanin.grouper.batch_api_calls.http import HttpDownstream
from fanin.grouper.listing import WaitingPlace
from fanin.grouper.memory import MemoryStore

START = datetime(2026, 3, 1, tzinfo=UTC)
TENANT = "t"
SMALL = Policy(max_size=3, max_attempts=3)
IN_TWOS = Timing(chunk=2)


@dataclass
class Clock:
    at: datetime = START

    def __call__(self) -> datetime:
        return self.at

    def advance(self, **duration: float) -> None:
        self.at += timedelta(**duration)


@dataclass
class Queue:
    clock: Clock
    waiting: list[tuple[datetime, Posting]] = field(default_factory=list)
    sent: list[Posting] = field(default_factory=list)

    def send(self, postings) -> None:
        self.sent += postings
        self.waiting += [(self.clock.at + timedelta(seconds=p.delay), p) for p in postings]

    def receive(self):
        """The message that is due first, at its time."""
        due, posting = min(self.waiting, key=lambda row: row[0])
        self.waiting.remove((due, posting))
        self.clock.at = max(self.clock.at, due)
        return posting.message


@dataclass
class Api:
    """Returns its configured answers, then successes; *says*, if it is set, answers each call."""

    answers: list[Answer] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    says: object = None

    def call(self, call: Call) -> Answer:
        self.calls.append(call)
        if self.says:
            return self.says(call)
        return self.answers.pop(0) if self.answers else Answer()


@dataclass
class Listener:
    reported: list[Task] = field(default_factory=list)
    failed: list[Bundle] = field(default_factory=list)

    def notify(self, tasks) -> None:
        self.reported += tasks


@dataclass
class Bench:
    """Everything around a grouper, and the grouper."""

    policy: Policy = SMALL
    timing: Timing = IN_TWOS
    target_of: object = None

    def __post_init__(self) -> None:
        self.clock, self.store = Clock(), MemoryStore()
        self.queue, self.api, self.listener = Queue(self.clock), Api(), Listener()
        self.serial = 0
        self.pauses: list[float] = []
        self.world = World(
            self.store,
            self.queue,
            Policies(default=self.policy),
            self.timing,
            now=self.clock,
            new_id=self._new_id,
            jitter=lambda: 0.5,
            pause=self._pause,
        )
        self.grouper = Grouper(self.world, self.target_of)

    def register(self, *names, target="search", **facts):
        return [self.grouper.register(TENANT, NewTask(name, target, name, **facts)) for name in names]

    def step(self):
        """Deliver one message."""
        message = self.queue.receive()
        if isinstance(message, TaskMessage):
            return self.grouper.lead(message)
        assert isinstance(message, BundleMessage)
        return self.grouper.handle(message, self.api, self.listener, self.listener.failed.append)

    def drain(self, most=200):
        """Deliver until both queues are empty; the number of deliveries."""
        for count in range(most):
            if not self.queue.waiting:
                return count
            self.step()
        raise AssertionError("the queues do not drain")

    def task(self, name):
        return self.grouper.task(TENANT, name)

    def states(self, *names):
        return [str(self.task(name).state) for name in names]

    def called(self):
        return [[member.task_id for member in call.members] for call in self.api.calls]

    def _new_id(self) -> str:
        self.serial += 1
        return f"id-{self.serial}"

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.advance(seconds=seconds)


@pytest.fixture
def bench():
    return Bench()


class Service(BaseHTTPRequestHandler):
    """Answers as the test says, and remembers what it was asked."""

    status, body, headers_out, asked = 200, b"", {}, None

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        type(self).asked = (self.path, dict(self.headers), json.loads(self.rfile.read(length)))
        self.send_response(self.status)
        for name, value in self.headers_out.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        pass


@pytest.fixture
def service():
    kind = type("AnsweringService", (Service,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    kind.api = HttpDownstream(f"http://127.0.0.1:{server.server_port}/bulk", headers={"X-Team": "a"})
    yield kind
    server.shutdown()
    server.server_close()


def waiting(bench, limit=100):
    """The tasks of the usual target that wait for a bundle."""
    return bench.grouper.tasks(TENANT, "search").waiting(limit, WaitingPlace())[0]


@pytest.fixture
def make_bench():
    return Bench
