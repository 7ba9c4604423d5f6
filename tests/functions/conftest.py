"""The consumers over a store of a test's own."""

from __future__ import annotations

import pytest

from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from fanin.tracker.memory import MemoryStore
from functions.wiring import tracking
from tests.api.conftest import environment, memory
from tests.aws.conftest import sqs

TENANT = "111122223333"
__all__ = ["environment", "hidden", "memory", "sqs"]


@pytest.fixture(autouse=True)
def hidden(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, int]]]:
    """What the adapters asked SQS to hide: queue, and seconds by receipt handle."""
    asked: list[tuple[str, dict[str, int]]] = []
    monkeypatch.setattr(tracking, "hide", lambda queue, pauses: asked.append((queue, pauses)))
    return asked


@pytest.fixture
def tracker(environment: pytest.MonkeyPatch, memory: MemoryStore) -> Tracker:
    """What the consumers ack with."""
    tracker = Tracker(memory, page_bits=8)
    environment.setattr(tracking, "transport", lambda: DirectTransport(tracker, TENANT))
    return tracker
