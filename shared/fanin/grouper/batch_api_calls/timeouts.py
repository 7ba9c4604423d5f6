"""A limit on the whole time of a call."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread

from fanin.grouper.rules.downstream import Answer
from fanin.grouper.rules.responses import retried


def answered_within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """Return the answer of *call*; a retry if it takes longer, or raises.

    A socket's own timeout starts again with each byte received.
    """
    answers: SimpleQueue[Answer] = SimpleQueue()
    Thread(target=lambda: answers.put(_answer(call)), daemon=True).start()
    try:
        return answers.get(timeout=seconds)
    except Empty:
        return retried("no response within the timeout")


def _answer(call: Callable[[], Answer]) -> Answer:
    """Return the answer of *call*; of an error only the type, because its text may hold credentials."""
    try:
        return call()
    except Exception as error:
        return retried(f"no response: {type(error).__name__}")
