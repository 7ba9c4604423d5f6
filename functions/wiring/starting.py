"""What a function does before its first request, while Lambda gives it more CPU than its memory buys."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable

ON_LAMBDA = "AWS_LAMBDA_FUNCTION_NAME" in os.environ
START_OBJECTS = 500_000
"""More than a cold start creates, about 100,000."""


def at_start(*factories: Callable[[], object]) -> None:
    """Call each of *factories* in a Lambda function; elsewhere they are called on first use."""
    if ON_LAMBDA:
        for each in factories:
            each()


def collect_after_start() -> None:
    """Let the garbage collector run after the cold start, as usual from then on.

    A start creates objects that stay: searching them for garbage again and again takes a seventh of its CPU.
    What the first collection leaves is not searched again.
    """
    usual = gc.get_threshold()

    def settle(phase: str, _info: object) -> None:
        if phase == "stop":
            gc.callbacks.remove(settle)
            gc.freeze()
            gc.set_threshold(*usual)

    if ON_LAMBDA:
        gc.callbacks.append(settle)
        gc.set_threshold(START_OBJECTS, *usual[1:])
