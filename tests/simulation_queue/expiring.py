"""Time to live of sessions and of removed queues: it deletes their rows early, late or never."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from fanin.queue.memory import MemoryStore
from fanin.queue.rules.keys import QueueKey
from tests.simulating.expiry import TimeToLive
from tests.simulation_queue.loop import SECOND, WALL
from tests.simulation_queue.referee import Referee

LATE = 120.0
"""How late a row is deleted in a run: later than everything that happens after its expiry."""
LOOKS_APART = SECOND // 4


@dataclass
class Expiring:
    """The rows of *memory* that expire.

    *session_seconds*: how long the row of a session is kept after the expiry of its last heartbeat. It is far
    shorter than the day of production, so that the rows of crashed, frozen and slow sessions go, too.
    *trace_seconds*: how long that of a removed queue is kept.
    """

    memory: MemoryStore
    referee: Referee
    random: Random
    session_seconds: float
    trace_seconds: float
    next_look: int = 0
    sessions: TimeToLive = field(init=False)
    traces: TimeToLive = field(init=False)

    def __post_init__(self) -> None:
        self.sessions = TimeToLive.draw(self.random, ahead=1.0, late=LATE)
        self.traces = TimeToLive.draw(self.random, ahead=1.0, late=LATE)

    def delete(self, at: int) -> None:
        """Delete what time to live deletes by *at*."""
        if at < self.next_look:
            return
        self.next_look = at + LOOKS_APART
        for queue, session in self.sessions.due(self._sessions(), at / SECOND):  # type: ignore[misc]
            self.referee.expire_session(queue, session, at)
        for queue in self.traces.due(self._traces(), at / SECOND):
            del self.memory.configs[queue]  # type: ignore[arg-type]
            self.memory.changes.pop(queue, None)  # type: ignore[arg-type]

    def _sessions(self) -> dict[tuple[QueueKey, str], float]:
        return {
            (queue, name): (member.expires_us - WALL) / SECOND + self.session_seconds
            for queue, members in self.memory.sessions.items()
            for name, member in members.items()
        }

    def _traces(self) -> dict[QueueKey, float]:
        removed = {queue: config.removed_us for queue, config in self.memory.configs.items()}
        return {
            queue: (since - WALL) / SECOND + self.trace_seconds
            for queue, since in removed.items()
            if since is not None
        }


def beside(random: Random) -> Random:
    """Return draws of their own, so that those of a seed stay what they are."""
    copy = Random()
    copy.setstate(random.getstate())
    return Random(copy.getrandbits(64))
