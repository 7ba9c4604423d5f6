"""What a function does before its first request, while Lambda gives it more CPU than its memory buys."""

from __future__ import annotations

import os
from collections.abc import Callable


def at_start(*made: Callable[[], object]) -> None:
    """Call each of *made* in a Lambda function; elsewhere they are called on first use."""
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        for each in made:
            each()
