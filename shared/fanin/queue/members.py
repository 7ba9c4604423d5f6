"""Which sessions are alive, and which parts each of them owns; times are arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fanin.queue.model import SECOND_US, Member

SKEW_US = 2 * SECOND_US
"""The clock skew between two machines up to which no live session is taken for overdue."""


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


def overdue(member: Member, now: int) -> bool:
    """Return whether a session is dead, or past its expiry by the wall clock and 2 seconds of skew."""
    return not member.live or member.expires_us + SKEW_US < now


@dataclass(slots=True)
class Watch:
    """When each session last changed, in seconds of the watcher's monotonic clock."""

    seen: dict[str, tuple[bool, int, float]] = field(default_factory=dict)

    def observe(self, members: Sequence[Member], at: float) -> None:
        """Note the sessions that changed, and drop those that are gone."""
        before = self.seen
        self.seen = {}
        for member in members:
            last = before.get(member.id)
            unchanged = last is not None and last[:2] == (member.live, member.heartbeats)
            since = last[2] if last is not None and unchanged else at
            self.seen[member.id] = (member.live, member.heartbeats, since)

    def suspects(self, members: Sequence[Member], at: float, now: int) -> list[Member]:
        """Return the sessions to end: without a heartbeat for 0.9 of their expiry, or past their fixed time.

        A dead session is returned if it is still stored after that time: the worker that ended it crashed.
        """
        return [member for member in members if self._is_suspect(member, at, now)]

    def _is_suspect(self, member: Member, at: float, now: int) -> bool:
        if member.live and not member.beats:
            return overdue(member, now)
        unchanged = at - self.seen[member.id][2]
        return unchanged * SECOND_US >= 0.9 * member.expiry_us
