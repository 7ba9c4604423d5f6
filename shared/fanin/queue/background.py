"""Runs a session's duties beside the work: each of them again and again, until it says that it is over."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fanin.calling import log_failure

logger = logging.getLogger("fanin")

STOP_SECONDS = 10.0
PACE = (0.9, 1.0)
"""Part of its seconds that a duty waits: workers that started together do not look at the same moment."""


@dataclass(frozen=True, slots=True)
class Duty:
    """Something to do every so many *seconds*, as long as it answers True."""

    do: Callable[[], bool]
    seconds: float


class Background(Protocol):
    """Starts duties, and gives what stops them."""

    def __call__(self, duties: Sequence[Duty]) -> Callable[[], None]: ...


def in_threads(duties: Sequence[Duty]) -> Callable[[], None]:
    """Each duty in a thread of its own: a slow one does not hold up the heartbeat."""
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
        except Exception as error:  # the next request may be taken, and an ended duty is not missed
            log_failure(logger, "a duty of this worker failed, and is tried again", error=error)
