"""The line that shows the progress of a batch on a terminal. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from fanin.cli.terminal.output import clean
from fanin.cli.terminal.rate import duration_text, rate_text
from fanin.client.model import Status
from fanin.tracker import State

CELLS = 10
CELLS_MIN = 4
NAME_MIN = 8
ACKED, FAILED, OUTSTANDING = "█", "▒", "░"
GAP = "  "


@dataclass(frozen=True, slots=True)
class Look:
    """What is shown: the *status* of a batch, its *rate* a second, and the *seconds* left."""

    status: Status
    rate: float | None = None
    seconds: float | None = None

    @property
    def name(self) -> str:
        return self.status.user_key or self.status.batch_id

    @property
    def state(self) -> str:
        """The result of a batch that has ended, else its state."""
        return self.status.result or self.status.state


def bar(status: Status, width: int) -> str:
    """Return a bar of *width* cells: done, failed, left.

    It is empty only if nothing is done, and full only if all is; a failure has a cell, however few there are.
    """
    if status.state is State.COMPLETE and not status.total:
        return ACKED * width
    acked = _cells(status.estimate, status.total, width, status.exact)
    failed = min(acked, max(1, width * status.failed // max(1, status.total))) if status.failed else 0
    if failed == acked and acked > 1 and status.estimate > status.failed:
        failed -= 1
    return ACKED * (acked - failed) + FAILED * failed + OUTSTANDING * (width - acked)


def line(look: Look, width: int) -> str:
    """Return one line of at most *width* columns; what matters least is left out first."""
    count = f"{'' if look.status.exact else '~'}{look.status.estimate:,} of {look.status.total:,}"
    more = [text for text in _facts(look) if text]
    for cells in (CELLS, CELLS_MIN, 0):
        head = [_short(clean(look.name), width)] + ([bar(look.status, cells)] if cells else [])
        for shown in range(len(more), min(len(more), 1) - 1, -1):
            text = " ".join([*head, GAP.join([count, *more[:shown]])])
            if columns(text) <= width:
                return text
    return GAP.join([count, *more[:1]])[:width]


def _facts(look: Look) -> Sequence[str]:
    """Return what is shown behind the count, the most important first."""
    status = look.status
    failed = f"{status.failed:,} failed" if status.failed else ""
    if status.result:
        return (status.result, failed)
    rate = "" if look.rate is None else rate_text(look.rate)
    time_left = "" if look.seconds is None else f"{duration_text(look.seconds)} left"
    return (failed, time_left, rate, "open" if status.state is State.OPEN else "")


def _cells(acked: int, total: int, width: int, exact: bool) -> int:
    if acked == 0:
        return 0
    if acked >= total and exact:
        return width
    return min(width - 1, max(1, width * acked // max(1, total)))


def columns(text: str) -> int:
    """Return how many columns of a terminal *text* takes: wide characters, such as emoji, take two."""
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _short(name: str, width: int) -> str:
    """Return *name*, cut to a third of the line if it would take more than half of it."""
    if columns(name) <= width // 2:
        return name
    ends = accumulate(map(_columns, name))
    kept = sum(1 for end in ends if end < max(NAME_MIN, width // 3))
    return f"{name[:kept]}…"
