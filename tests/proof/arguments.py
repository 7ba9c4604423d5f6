"""What a command line of a proof takes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import nan


def from_on(least: int) -> Callable[[str], int]:
    """Return the type of an option that is a whole number, *least* or more."""

    def parsed(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return parsed


def minutes(text: str) -> float:
    """Return a time from 0 minutes on."""
    try:
        found = float(text)
    except ValueError:
        found = nan
    if not found >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes from 0 on")
    return found
