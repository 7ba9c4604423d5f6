"""Looks before the work take a part of the time: the work of redelivered messages starts within the limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.pacing import THREADS
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from tests.client.conftest import TENANT, sqs_event

LIMIT_SECONDS = 30.0
READ_SECONDS = 0.04
PAGE = 1024
KEYS_A_READ = 100
"""Rows of one BatchGetItem."""


@dataclass
class Invocation:
    """A Lambda context whose time passes while the store is read."""

    passed: float = 0.0

    def get_remaining_time_in_millis(self):
        return (LIMIT_SECONDS - self.passed) * 1000


@dataclass
class SlowStore(MemoryStore):
    """A store in memory whose reads take the time of *invocation*."""

    invocation: Invocation = field(default_factory=Invocation)
    read_seconds: float = READ_SECONDS

    def get(self, key):
        self.invocation.passed += self.read_seconds
        return super().get(key)

    def pages(self, keys):
        self.invocation.passed += self.read_seconds * -(-len(keys) // KEYS_A_READ)
        return super().pages(keys)

    def side_by_side(self, call, values):
        """Call *call* for all values, in the time that the threads of a client take."""
        began = self.invocation.passed
        results = [call(value) for value in values]
        self.invocation.passed = began + (self.invocation.passed - began) / min(THREADS, len(values) or 1)
        return results


@pytest.fixture
def store():
    return SlowStore()


@pytest.fixture
def fanin(store):
    tracker = Tracker(store, fresh_for=timedelta(hours=1), pause=lambda _: None, each=store.side_by_side)
    return Fanin(DirectTransport(tracker, TENANT))


def started_at(fanin, store, items):
    """Return the second at which each record was started; every one takes a second."""
    found = {}
    store.invocation.passed = 0.0

    @fanin.acks
    def work(record):
        found[record["body"]] = store.invocation.passed
        store.invocation.passed += 1.0

    returned = work(sqs_event(*items, times=2), store.invocation)["batchItemFailures"]
    return found, len(returned)


def test_looks_leave_half_of_the_time_to_the_work_and_what_was_not_looked_at_returns(fanin, store):
    items = fanin.open().add(6000 * PAGE)[::PAGE]
    fanin.ack(items[:500])
    store.read_seconds = 0.4
    started, returned = started_at(fanin, store, items)

    assert LIMIT_SECONDS / 2 <= min(started.values()) < LIMIT_SECONDS - 2
    assert len(started) >= 5
    assert 0 < len(items) - len(started) - returned <= 500  # done, and looked at
