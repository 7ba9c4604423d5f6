"""What a command line of a proof takes."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def from_on(least: int) -> Callable[[str], int]:
    """Return the type of an option that is a whole number, *least* or more."""

    def parsed(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return parsed
