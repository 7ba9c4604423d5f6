"""Copies of a request to end a batch for its failures that land when their caller has been answered."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.tracker import State, Tracker
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import BatchKey, PageKey
from fanin.tracker.rules.page import PageMasks
from tests.tracker.calls import DAY, START, fail, opened


class Straying(MemoryStore):
    """A copy of every step of a batch stays behind in the network; *meanwhile* goes before the next one."""

    def __init__(self):
        super().__init__()
        self.strays, self.meanwhile = [], None

    def transition(self, key, step):
        if self.meanwhile:
            self.meanwhile()
        self.strays.append((key, step))
        return super().transition(key, step)

    def land(self):
        for key, step in self.strays:
            super().transition(key, step)


@pytest.fixture
def store():
    return Straying()


@pytest.fixture
def tracker(store, clock):
    return Tracker(store, page_bits=4, fresh_for=timedelta(0), now=clock, pause=lambda _: None)


def state(tracker, batch_id):
    return tracker.get("t", batch_id).state


def test_a_failure_that_is_not_the_last_one_leaves_no_request_that_ends_the_batch_later(tracker, store):
    batch_id, group = opened(tracker, 9, max_failures=2)
    leaf = PageKey(BatchKey("t", batch_id), 0, 0)
    fail(tracker, batch_id, group, 0, caller="first")
    store.add_bits(leaf, PageMasks(failure=0b10), START + DAY)
    store.land()

    assert state(tracker, batch_id) is State.OPEN
    fail(tracker, batch_id, group, 1, caller="second")
    assert state(tracker, batch_id) is State.FAILED


def test_an_end_for_failures_that_were_healed_meanwhile_does_not_come_back_with_new_ones(tracker, store):
    batch_id, group = opened(tracker, 9, max_failures=2)
    leaf = PageKey(BatchKey("t", batch_id), 0, 0)
    fail(tracker, batch_id, group, 0, caller="first")
    store.meanwhile = lambda: store.heal_bits(leaf, 0b1)
    fail(tracker, batch_id, group, 1, caller="second")
    store.meanwhile = None
    store.add_bits(leaf, PageMasks(failure=0b100), START + DAY)
    store.land()

    assert store.strays
    assert state(tracker, batch_id) is State.OPEN
    fail(tracker, batch_id, group, 2, caller="third")
    assert state(tracker, batch_id) is State.FAILED
