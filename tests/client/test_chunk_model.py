"""Each item of a chunk is worked on until it is done, and none after its answered ack."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from fanin.client.consuming.chunks import Chunk
from fanin.client.consuming.each import EachConsumer, Part
from tests.client.chunk_model import explore


@pytest.fixture(autouse=True)
def _quiet():
    """Thousands of runs log what they are made to suffer."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("fail_after", [None, 2])
def test_killed_raising_or_lost_at_any_item_and_any_request(fail_after):
    """Every placement of one disturbance, and of two."""
    runs = list(explore(2, fail_after))

    assert [(placed, str(broken)) for placed, broken in runs if broken] == []
    assert len(runs) > 1_000


@pytest.mark.proof
@pytest.mark.parametrize("fail_after", [None, 2])
def test_every_placement_of_three_disturbances(fail_after):
    assert [(placed, str(broken)) for placed, broken in explore(3, fail_after) if broken] == []


def everything(self, transport):
    return list(self.items.indexes)


def forgetting(worked):
    return lambda self, chunk: replace(worked(self, chunk), returns=False)


def acking_all(worked):
    return lambda self, chunk: replace(worked(self, chunk), acks=[chunk.ack])


MUTANTS = {
    "a redelivery works on all items": (Chunk, "remaining", lambda _: everything),
    "a message is deleted although an item is left": (Part, "worked", forgetting),
    "an item that was not worked on is acked": (Part, "worked", acking_all),
    "a failure fails at any receive": (EachConsumer, "_is_last", lambda _: lambda self, record: True),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_model_finds_a_broken_rule(monkeypatch, name):
    kind, method, mutate = MUTANTS[name]
    monkeypatch.setattr(kind, method, mutate(getattr(kind, method)))

    assert any(broken for _, broken in explore(2))
