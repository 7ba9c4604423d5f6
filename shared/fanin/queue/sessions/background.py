"""Runs the duties of a session in background threads, each at its interval, until it returns False."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fanin.user_functions import log_failure

logger = logging.getLogger("fanin")

STOP_SECONDS = 10.0
PACE = (0.9, 1.0)
"""Jitter: the share of its seconds that a duty waits, so that workers do not run in step."""


@dataclass(frozen=True, slots=True)
class Duty:
    """A call that is repeated every *seconds* while it returns True."""

    do: Callable[[], bool]
    seconds: float


class Background(Protocol):
    """Starts duties; returns the function that stops them."""

    def __call__(self, duties: Sequence[Duty]) -> Callable[[], None]: ...


def in_threads(duties: Sequence[Duty]) -> Callable[[], None]:
    """Start each duty in its own thread, so that a slow one does not delay the heartbeat."""
    stop = threading.Event()
    threads = [threading.Thread(target=_repeat, args=(duty, stop), daemon=True) for duty in duties]
    for thread in threads:
        thread.start()

    def stop_all() -> None:
        stop.set()
        for thread in threads:
            thread.join(STOP_SECONDS)

    return stop_all


def _repeat(duty: Duty, stop: threading.Event) -> None:
    goes_on = True
    while goes_on and not stop.wait(duty.seconds * random.uniform(*PACE)):
        try:
            goes_on = duty.do()
        except Exception as error:  # the next run can succeed, and a thread that ended would not be noticed
            log_failure(logger, "a duty of this worker failed; it is repeated", error=error)
