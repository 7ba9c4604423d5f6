"""Ends a command that serves, at Ctrl-C or a signal, without an error."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """End the block at SIGINT, SIGTERM or SIGHUP, without an error; ignore further ones while it ends.

    SIGINT gets a handler too, because a shell starts background commands with it ignored.
    """
    before = {number: signal.signal(number, _interrupt) for number in SIGNALS}
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # A second Ctrl-C would interrupt the removal of the run's files.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
