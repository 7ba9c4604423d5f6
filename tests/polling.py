"""Waits for what other processes bring about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_SECONDS = 180
STEP_SECONDS = 0.1
T = TypeVar("T")


def eventually(look: Callable[[], T]) -> T:
    """Return what *look* returns as soon as that is true, or what it returns last when the time is over.

    A look that takes long is taken less often: to look is a fifth of the time at most.
    """
    began = time.monotonic()
    deadline = began + PATIENCE_SECONDS
    while not (found := look()) and (now := time.monotonic()) < deadline:
        time.sleep(max(STEP_SECONDS, 4 * (now - began)))
        began = time.monotonic()
    return found
