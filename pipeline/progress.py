"""What a job says while it works."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[str, dict[str, Any]], None]
"""Told what happened: the event's name and its facts."""


@contextmanager
def every(seconds: float, act: Callable[[], None]) -> Iterator[None]:
    """Call *act* every so many *seconds* beside the body."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            act()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
