"""Waits for what other processes bring about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_SECONDS = 180
STEP_SECONDS = 0.1
T = TypeVar("T")


def eventually(look: Callable[[], T]) -> T:
    """Return what *look* returns as soon as that is true, or what it returns last when the time is over."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(STEP_SECONDS)
    return found
