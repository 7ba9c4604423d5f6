"""Reasons of failures: one printable line of bounded length, which the API accepts."""

from __future__ import annotations

from fanin.errors import Failed
from fanin.tracker.rules.model import REASON_MAX
from fanin.user_functions import own_text, text_of


def fitting(text: str) -> str | None:
    """Return *text* on one line of at most 512 characters, or None if it has no printable character."""
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    line = line.replace("\ufffd", "?")
    return (line if len(line) <= REASON_MAX else f"{line[: REASON_MAX - 1]}…") or None


def reason_of(error: BaseException) -> str | None:
    """Return the type of *error* and its text, or the type alone if ``str(error)`` raises."""
    return fitting(text_of(error))


def reason_for_good(failed: Failed) -> str | None:
    """Return the reason of a failure for good: its text alone, or its type if it has none."""
    return fitting(own_text(failed)) or type(failed).__name__
