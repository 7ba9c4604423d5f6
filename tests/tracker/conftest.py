"""A tracker in memory, with pages of four items and a clock that a test sets."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fanin.tracker import Tracker
from tests.tracker.calls import Clock
from tests.tracker.metered import Metered


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tracker(clock):
    return Tracker(Metered(), page_bits=4, fresh_for=timedelta(0), now=clock, pause=lambda _: None)
