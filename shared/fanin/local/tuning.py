"""Patches of slow parts of the emulator that have no setting; its results stay the same."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

from ministack.core import lambda_runtime
from ministack.core.lambda_runtime import Worker
from ministack.services import sqs

from fanin.local import unpacking

Queue = dict[str, Any]
Collect = Callable[[Queue, int, float], list[Any]]

# The emulator waits 50 ms for the log of a handler that logs nothing. Log lines are in the pipe before the
# result, so a short wait loses none; a late line appears with the next invocation.
LOG_WAIT_SECONDS = 0.002


def apply() -> None:
    """Patch the emulator of this process."""
    # Else each worker unpacks and compiles the 35 MB of its function and layer.
    lambda_runtime.zipfile = unpacking.sharing()
    Worker._drain_stderr_bounded = functools.partialmethod(
        Worker._drain_stderr_bounded, first_line_wait=LOG_WAIT_SECONDS
    )
    sqs._collect_msgs = of_the_first_visible(sqs._collect_msgs, now=time.time)
    # Every receive searches the whole queue for messages beyond its retention: an hour for rings, else days.
    sqs._expire_retained = _nothing_is_old


def of_the_first_visible(collect: Collect, now: Callable[[], float]) -> Collect:
    """Return *collect* limited to the first visible messages of a standard queue.

    Without it a receive reads the whole queue: 27 ms for 20,000 messages.
    """

    def collect_few(queue: Queue, limit: int, timeout: float) -> list[Any]:
        if queue["is_fifo"]:
            return collect(queue, limit, timeout)
        moment = now()
        visible = (each for each in queue["messages"] if each.get("visible_at", 0) <= moment)
        return collect({**queue, "messages": list(islice(visible, limit))}, limit, timeout)

    return collect_few


def _nothing_is_old(_queue: Queue) -> None:
    """Expire no message."""
