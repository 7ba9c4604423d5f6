"""Ends a command that serves, at Ctrl-C or a signal, without an error."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """End the block at SIGINT, SIGTERM or SIGHUP, without an error.

    SIGINT gets a handler too, because a shell starts background commands with it ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    with suppress(KeyboardInterrupt):
        yield


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
