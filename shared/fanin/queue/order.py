"""Where a job stands in its part: one text that sorts, of a first digit for the state and what follows.

``0#<999 - priority>#<added>``  ready: the higher priority first, then the earlier added
``1#<session>#<claimed>``       busy: the claims of a session lie together
``2#<due>``                     delayed until it is due
``4#<died>``                    dead, in the one part of the dead
Times are microseconds since 1970, padded to 16 digits.
"""

from __future__ import annotations

from fanin.errors import InvalidRequest

PRIORITY_MAX = 999
READY = "0#"
BUSY = "1#"
DELAYED = "2#"
DEAD = "4#"


def place(priority: int, added_us: int) -> str:
    """The place of a job among the ready ones of its part; it keeps it for life."""
    return f"{READY}{PRIORITY_MAX - priority:03d}#{added_us:016d}"


def busy(session: str, claimed_us: int) -> str:
    return f"{busy_of(session)}{claimed_us:016d}"


def busy_of(session: str) -> str:
    """What the claims of one session begin with."""
    return f"{BUSY}{session}#"


def delayed(due_us: int) -> str:
    return f"{DELAYED}{due_us:016d}"


def dead(died_us: int) -> str:
    return f"{DEAD}{died_us:016d}"


def checked_priority(priority: int) -> int:
    """*priority*, where it goes from 0 (usual) to 999 (first); InvalidRequest where it does not."""
    if isinstance(priority, bool) or not isinstance(priority, int) or not 0 <= priority <= PRIORITY_MAX:
        raise InvalidRequest(f"a priority goes from 0 to {PRIORITY_MAX}", field="priority")
    return priority
