"""Why something failed, in a text that fits: one line, bounded, and nothing that another system chokes on."""

from __future__ import annotations

from fanin.calling import text_of

REASON_MAX = 512


def fitting(text: str) -> str | None:
    """*text* on one line of at most 512 characters; None where nothing is left of it."""
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    line = line.replace("\ufffd", "?")
    return (line if len(line) <= REASON_MAX else f"{line[: REASON_MAX - 1]}…") or None


def reason_of(error: BaseException) -> str | None:
    """The kind of *error* and its text; the kind alone where the text cannot be made."""
    return fitting(text_of(error))
