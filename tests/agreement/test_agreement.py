"""A few sequences: the long run is ``tests.agreement.run``."""

from __future__ import annotations

import pytest

from fanin import Fanin
from fanin.client.aio.batches import AsyncReopened
from fanin.client.consuming.consumers import Consumers
from fanin.client.queues.queue_calls import QueueCalls
from tests.agreement.agreement import simulate
from tests.simulating.run import Tally, run_seeds

SEEDS = (*range(4), 12, 24, 28, 29, 32, 45, 80, 126, 129, 140, 155, 168, 475)
"""The first ones, and those that make all calls between them."""
ELSEWHERE = {"direct", "publication", "publish_object", "task", "task_status", "tasks"}
"""Calls of the client that not all of the four have."""


@pytest.fixture(scope="module")
def tally() -> Tally:
    return run_seeds(simulate, SEEDS)


def test_fake_direct_http_and_asyncio_agree(tally):
    assert tally.violations == []


@pytest.mark.proof
def test_fake_direct_http_and_asyncio_agree_on_many_sequences():
    assert run_seeds(simulate, range(10_000)).violations == []


FACTS = {"id", "closed", "sync"}
"""Attributes of a batch that are no calls."""


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_every_call_about_batches_is_answered_and_refused(tally):
    tallied = tally.events
    calls = public(Fanin) - ELSEWHERE
    for others in (Consumers, QueueCalls):
        calls -= public(others)

    assert {name for name in calls if not tallied[name]} == set()
    assert {name for name in calls if not tallied[f"{name} refused"]} == set()
    assert {name for name in public(AsyncReopened) - FACTS if not tallied[f"batch.{name}"]} == set()
