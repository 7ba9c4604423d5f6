"""Who is alive, and which parts are whose: values and comparisons, no clock of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fanin.queue.model import SECOND_US, Member

SKEW_US = 2 * SECOND_US
"""What two machines' clocks may be apart before a session is suspected wrongly."""


def owned(parts: int, sessions: Sequence[str], me: str) -> range:
    """The parts of *me*: session i of n owns i*P/n up to (i+1)*P/n, by the order of the ids."""
    ranks = sorted(sessions)
    if me not in ranks:
        return range(0)
    i, n = ranks.index(me), len(ranks)
    return range(i * parts // n, (i + 1) * parts // n)


def owners(members: Iterable[Member]) -> list[str]:
    """Those who share the parts; an invocation of seconds owns none, it follows the doorbell."""
    return [member.id for member in members if member.live and member.beats]


def overdue(member: Member, now: int) -> bool:
    """Whether the clock says that a session is over, with room for clocks that differ."""
    return not member.live or member.expires_us + SKEW_US < now


@dataclass(slots=True)
class Watch:
    """Remembers when each session was last seen to move, on the watcher's own monotonic clock (seconds)."""

    seen: dict[str, tuple[bool, int, float]] = field(default_factory=dict)

    def observe(self, members: Sequence[Member], at: float) -> None:
        """Note what moved; whoever left is forgotten."""
        before = self.seen
        self.seen = {}
        for member in members:
            last = before.get(member.id)
            still = last is not None and last[:2] == (member.live, member.heartbeats)
            since = last[2] if last is not None and still else at
            self.seen[member.id] = (member.live, member.heartbeats, since)

    def suspects(self, members: Sequence[Member], at: float, now: int) -> list[Member]:
        """The sessions to end: silent for nine tenths of their expiry, or out of their fixed time.

        A dead one is among them when whoever ended it has not cleared it away for as long.
        """
        return [member for member in members if self._is_suspect(member, at, now)]

    def _is_suspect(self, member: Member, at: float, now: int) -> bool:
        if member.live and not member.beats:
            return overdue(member, now)
        silent = at - self.seen[member.id][2]
        return silent * SECOND_US >= 0.9 * member.expiry_us
