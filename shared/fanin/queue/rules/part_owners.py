"""Which sessions are alive, which parts each of them owns, and which of them watches which.

Times are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fanin.queue.rules.model import SECOND_US, Member

SKEW_US = 2 * SECOND_US
"""The clock skew between two machines up to which no live session is taken for overdue."""

CROWD = 24
"""The number of sessions up to which each watches all others: one query then costs less than reads of two."""
NEIGHBOURS = 2
"""How many sessions each one watches in a larger group."""
LOOK_SECONDS = 0.2
"""In a larger group, the seconds between two reads of all sessions, for each session."""
CHANGE_SECONDS = 0.02
"""The same between two reads that a change of the sessions causes."""


def owned(parts: int, sessions: Sequence[str], me: str) -> range:
    """Return the parts of *me*: session i of n, by the order of the ids, owns i*P/n up to (i+1)*P/n."""
    ranks = sorted(sessions)
    if me not in ranks:
        return range(0)
    i, n = ranks.index(me), len(ranks)
    return range(i * parts // n, (i + 1) * parts // n)


def owners(members: Iterable[Member]) -> list[str]:
    """Return the ids of the sessions that share the parts: the live ones with a heartbeat."""
    return [member.id for member in members if member.live and member.beats]


def neighbours(sessions: Sequence[str], me: str) -> list[str]:
    """Return the two sessions that follow *me* in the order of their ids, the first ones after the last."""
    ring = sorted({*sessions, me})
    after = ring.index(me) + 1
    return [*ring[after:], *ring[: after - 1]][:NEIGHBOURS]


def look_seconds(sessions: int) -> float:
    """Return the seconds between two reads of all sessions, so that their cost grows as their number does."""
    return LOOK_SECONDS * sessions if sessions > CROWD else 0.0


def change_seconds(sessions: int) -> float:
    """Return the seconds between two reads of all sessions that changes of the sessions cause."""
    return CHANGE_SECONDS * sessions if sessions > CROWD else 0.0


def overdue(member: Member, now: int) -> bool:
    """Return whether a session is dead, or past its expiry by the wall clock and 2 seconds of skew."""
    return not member.live or member.expires_us + SKEW_US < now


@dataclass(slots=True)
class Watch:
    """When each session last changed, in seconds of the watcher's monotonic clock."""

    seen: dict[str, tuple[bool, int, float]] = field(default_factory=dict)

    def observe(self, members: Sequence[Member], at: float) -> None:
        """Note the sessions that changed, where *members* are all, and drop those that are gone."""
        stored = {member.id for member in members}
        self.seen = {session: seen for session, seen in self.seen.items() if session in stored}
        self.note(members, at)

    def note(self, members: Sequence[Member], at: float) -> None:
        """Note which of *members* changed; an older copy of a row is no change."""
        for member in members:
            live, heartbeats, _ = self.seen.get(member.id, (True, -1, 0.0))
            if member.heartbeats > heartbeats or member.live < live:
                self.seen[member.id] = (member.live, member.heartbeats, at)

    def suspects(self, members: Sequence[Member], at: float, now: int) -> list[Member]:
        """Return the sessions to end: without a heartbeat for 0.9 of their expiry, or past their fixed time.

        A dead session is returned if it is still stored after that time: the worker that ended it crashed.
        """
        return [member for member in members if self._is_suspect(member, at, now)]

    def misses_heartbeats(self, member: Member, at: float) -> bool:
        """Return whether a session has not changed for half its expiry."""
        return (at - self.seen[member.id][2]) * SECOND_US >= member.expiry_us / 2

    def _is_suspect(self, member: Member, at: float, now: int) -> bool:
        if member.live and not member.beats:
            return overdue(member, now)
        unchanged = at - self.seen[member.id][2]
        return unchanged * SECOND_US >= 0.9 * member.expiry_us
