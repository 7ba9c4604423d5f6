"""The handlers over a store of a test's own, in memory: tests/contract holds every store to it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from fanin.api import edge
from fanin.grouper import Grouper, Policies, Policy, World
from fanin.grouper import memory as groups
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from functions.wiring import deployed, grouping, tracking
from tests.api.gateway import Gateway
from tests.contract.tables import TABLES
from tests.tracker.calls import Clock

AT = datetime(2026, 1, 1, tzinfo=UTC)
NO_TIME = timedelta(0)
TENANT = "111122223333"
ENVIRONMENT = {
    "FANIN_BATCHES_TABLE": TABLES[0],
    "FANIN_PAGES_TABLE": TABLES[1],
    "FANIN_TENANT": TENANT,
    "FANIN_ALLOW_ANONYMOUS": "true",
    "FANIN_SETTINGS": "{}",
}
CACHED = (tracking.settings, deployed.settings_file)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The environment of a deployed function."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for cached in CACHED:
        cached.cache_clear()
    yield monkeypatch
    for cached in CACHED:
        cached.cache_clear()


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the edge writes to its log."""
    handler = edge.logger.registered_handler
    usual = handler.setStream(io.StringIO())
    yield handler.stream
    handler.setStream(usual)


@pytest.fixture
def memory() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tracker(clock: Clock, memory: MemoryStore, environment: pytest.MonkeyPatch) -> Tracker:
    """A tracker in memory that the handlers use, with a clock that a test sets."""
    created = Tracker(memory, page_bits=8, fresh_for=timedelta(0), now=clock)
    environment.setattr(tracking, "tracker", lambda: created)
    return created


@pytest.fixture
def gateway(environment: pytest.MonkeyPatch, memory: MemoryStore) -> Gateway:
    """The API over a store in memory."""
    tracker = Tracker(memory, page_bits=8, fresh_for=timedelta(0))
    environment.setattr(tracking, "tracker", lambda: tracker)
    return Gateway()


class Outbox:
    """A queue that keeps count."""

    def __init__(self):
        self.sent = []

    def send(self, postings):
        self.sent += postings


@pytest.fixture
def grouper(gateway, environment):
    policies = Policies(default=Policy(linger=NO_TIME, max_delay=NO_TIME, shards=2))
    grouper = Grouper(World(groups.MemoryStore(), Outbox(), policies, now=lambda: AT))
    environment.setattr(grouping, "grouper", lambda: grouper)
    return grouper
