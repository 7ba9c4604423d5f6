"""The consumers over a store of a test's own."""

from __future__ import annotations

import pytest

from functions.wiring import tracking
from tests.api.conftest import environment, memory
from tests.aws.conftest import sqs

__all__ = ["environment", "hidden", "memory", "sqs"]


@pytest.fixture(autouse=True)
def hidden(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, int]]]:
    """What the adapters asked SQS to hide: queue, and seconds by receipt handle."""
    asked: list[tuple[str, dict[str, int]]] = []
    monkeypatch.setattr(tracking, "hide", lambda queue, pauses: asked.append((queue, pauses)))
    return asked
