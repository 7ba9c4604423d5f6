"""The worlds that are compared: one client each, over rows of its own, with the same times, ids and salts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from fanin import AsyncFanin, Fanin
from fanin.client.transports.direct import DIRECT, DirectTransport
from fanin.client.transports.http import HttpTransport
from fanin.item_results.memory import MemoryObjects
from fanin.item_results.service import Results
from fanin.testing import FakeFanin
from fanin.tracker import Tracker
from functions.wiring import tracking
from tests.api.gateway import Gateway

AT = datetime(2026, 1, 1, tzinfo=UTC)
FRESH_FOR = timedelta(seconds=5)
"""How long a process may use what it knows of a batch: a sequence waits longer between two processes."""
PAGE_BITS = 4
LINKED = "memory"
PROCESSES = 2
TENANT = "111122223333"
PRINCIPAL = {"iam": {"accountId": TENANT, "userArn": DIRECT}}
"""What IAM says of the caller over HTTP: the principal of a direct client, so that both end batches alike."""
ENVIRONMENT = {
    "FANIN_BATCHES_TABLE": "unused",
    "FANIN_PAGES_TABLE": "unused",
    "FANIN_TENANT": TENANT,
    "FANIN_SETTINGS": json.dumps(
        {
            "callbacks": [{"name": "orders", "queue": "arn:aws:sqs:eu-west-1:111122223333:orders"}],
            "resumed_state_machines": ["arn:aws:states:eu-west-1:111122223333:stateMachine:orders"],
        }
    ),
}


class World:
    """One client, as several processes have it. *batches*: the opened ones of the process at work, by id.

    The rows, the clock, the sweeps and the bus are those of a fake.
    """

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.backend = FakeFanin(TENANT, page_bits=PAGE_BITS, at=AT)
        self._random = Random(seed)
        self.backend.tracker.new_id, self.backend.tracker.entropy = self._new_id, self._random.randbytes
        self.clients = [self._client() for _ in range(PROCESSES)]
        self.batches: dict[str, Any] = {}
        self.process = 0

    @property
    def client(self) -> Any:
        """The client of the process at work."""
        return self.clients[self.process]

    def switch(self, by: timedelta) -> None:
        """Let the time pass, and another process work on, which knows batches by their ids alone."""
        self.backend.clock.advance(by)
        self.process = (self.process + 1) % PROCESSES
        self.batches.clear()

    def _client(self) -> Any:
        return self.backend

    def _tracker(self, fresh_for: timedelta) -> Tracker:
        """Return the tracker of one process."""
        one = self.backend.tracker
        return Tracker(
            one.store,
            one.page_bits,
            fresh_for,
            now=one.now,
            new_id=one.new_id,
            entropy=one.entropy,
            pause=one.pause,
            results=one.results,
        )

    def _new_id(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)


class DirectWorld(World):
    """A client on the tables, with the cache that it has in production."""

    def _client(self) -> Any:
        return Fanin(DirectTransport(self._tracker(FRESH_FOR), TENANT))


class AsyncWorld(DirectWorld):
    """A client for asyncio."""

    def _client(self) -> Any:
        return AsyncFanin(super()._client())


class HttpWorld(World):
    """A client over HTTP; each process has a container of the deployed handlers to itself."""

    def _client(self) -> Any:
        handlers = Handlers(self._tracker(timedelta(0)))
        transport = HttpTransport("http://127.0.0.1:1", pause=lambda _: None)
        transport._pool = lambda: handlers  # type: ignore[method-assign]
        transport._states.clock = transport._states.wall = self.backend.clock.monotonic
        fanin = Fanin(transport)
        fanin._pause = lambda _: None  # type: ignore[method-assign]
        return fanin


@dataclass
class Handlers:
    """Answers requests by the deployed handlers, in place of a pool of connections."""

    tracker: Tracker
    gateway: Gateway = field(default_factory=lambda: Gateway(PRINCIPAL))

    def request(
        self, method: str, url: str, *, body: bytes | None = None, headers: Any = None, **_: object
    ) -> Received:
        parts = urlsplit(url)
        results = self._linked()
        if parts.scheme == LINKED:
            return Received(200, {}, results.file(parts.path))
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        with (
            patch.object(tracking, "tracker", lambda: self.tracker),
            patch.object(tracking, "results", lambda: results),
        ):
            answer = self.gateway.send(method, parts.path, body, dict(headers), query)
        return Received(answer.status, answer.headers, answer.text.encode())

    def _linked(self) -> Results:
        """Return the results of the tracker, with links to files in memory."""
        kept: Any = self.tracker.results
        return replace(kept, objects=Linked(stored=kept.objects.stored))


class Linked(MemoryObjects):
    """Objects in memory with links to them."""

    def link(self, name: str, lifetime: timedelta) -> str:  # they do not expire
        return f"{LINKED}:{name}"


@dataclass(frozen=True)
class Received:
    """An answer, as urllib3 returns it."""

    status: int
    headers: Mapping[str, str]
    data: bytes


def worlds_of(seed: int) -> list[World]:
    """Return the four worlds, with the same ids and salts."""
    return [
        World("fake", seed),
        DirectWorld("direct", seed),
        HttpWorld("http", seed),
        AsyncWorld("asyncio", seed),
    ]
