"""What a world has unless a test replaces it."""

from __future__ import annotations

from datetime import UTC, datetime

from fanin.grouper import World
from fanin.grouper.memory import MemoryStore


def test_the_clock_has_the_present_time_in_utc():
    before = datetime.now(UTC)
    now = World(MemoryStore(), queue=None).now()

    assert before <= now <= datetime.now(UTC)
    assert now.tzinfo is UTC
