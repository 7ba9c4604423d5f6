"""Ends a command that serves, at Ctrl-C or a signal, without an error."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stopped_by_signals() -> Iterator[list[int]]:
    """End the block at SIGINT, SIGTERM or SIGHUP, without an error; ignore further ones while it ends.

    Yields the signal that has come, in a list. SIGINT gets a handler too, because a shell starts background
    commands with it ignored.
    """
    come: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        # A second Ctrl-C would interrupt the removal of the run's files.
        come.append(number)
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        with suppress(KeyboardInterrupt):
            yield come
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
