"""The sort key ``ix`` of a job in its part: a digit for the state, then what orders the jobs in it.

``0#<999 - priority>#<added>``  ready: the higher priority first, then the earlier added
``1#<session>#<claimed>``       busy: the claims of a session lie together
``2#<due>``                     delayed until it is due
``4#<died>``                    dead, in the one part of the dead
Times are microseconds since 1970, padded to 16 digits.
"""

from __future__ import annotations

from dataclasses import dataclass

PRIORITY_MAX = 999
READY = "0#"
BUSY = "1#"
DELAYED = "2#"
DEAD = "4#"


@dataclass(frozen=True, slots=True)
class IndexKey:
    """The keys of a row in its partition: that in the index, *ix*, and that in the table, *sort*."""

    ix: str
    sort: str


@dataclass(frozen=True, slots=True)
class IndexRange:
    """The rows of a partition with an ``ix`` from *low* to *high*, those after the row *after* at *low*."""

    low: str
    high: str
    after: str | None = None


def ready(priority: int, added_us: int) -> str:
    """Return the position of a job among the ready ones of its part; it never changes."""
    return f"{READY}{PRIORITY_MAX - priority:03d}#{added_us:016d}"


def busy(session: str, claimed_us: int) -> str:
    """Return the sort key of a claimed job."""
    return f"{busy_of(session)}{claimed_us:016d}"


def busy_of(session: str) -> str:
    """Return the prefix of the claims of one session."""
    return f"{BUSY}{session}#"


def delayed(due_us: int) -> str:
    """Return the sort key of a delayed job."""
    return f"{DELAYED}{due_us:016d}"


def dead(died_us: int) -> str:
    """Return the sort key of a dead job."""
    return f"{DEAD}{died_us:016d}"
