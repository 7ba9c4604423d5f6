"""What a process does where the doorbell of its queue is missing, and may not be created."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.errors import InvalidRequest
from fanin.queue import QueueContext, Ring
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.errors import DoorbellMissing
from tests.queue.conftest import KEY


def existing():
    """A store with the queue, whose doorbell its config has."""
    store = MemoryStore()
    store.create(KEY, QueueConfig(1, doorbell="https://orders"))
    return store


class Refusing:
    """A creator that may create nothing; *doorbell*: the one that every request finds to be missing."""

    def __init__(self):
        self.requested = []

    def create(self, queue, config):
        raise InvalidRequest("this key may not create queues")

    def at(self, url):
        self.requested.append(url)
        return self

    def ring(self, rings, delay=0.0):
        raise DoorbellMissing("gone")


def test_a_doorbell_that_this_process_may_not_create_stays_missing():
    refusing = Refusing()
    context = QueueContext(existing(), refusing, KEY, creator=refusing)
    with pytest.raises(DoorbellMissing, match="this key may not create queues"):
        context.at_doorbell(lambda bell: bell.ring([Ring(0)]))

    assert refusing.requested == ["https://orders"]


def test_a_ring_at_a_queue_that_was_removed_creates_none():
    refusing, store = Refusing(), existing()
    context = QueueContext(store, refusing, KEY)
    gone = replace(context.config(), revision=1, removing_us=1, removed_us=2)
    store.reconfigure(KEY, gone)
    context.ring([Ring(0)])

    assert refusing.requested == ["https://orders"]
    assert store.config(KEY) == gone


async def reports(_):
    """Do no work when it is called."""


def test_a_report_that_does_no_work_when_it_is_called_is_refused():
    with pytest.raises(InvalidRequest, match="report is a coroutine function") as caught:
        QueueContext(MemoryStore(), Refusing(), KEY, report=reports)
    assert caught.value.field == "report"
