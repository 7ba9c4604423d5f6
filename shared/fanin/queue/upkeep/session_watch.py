"""How one worker follows the sessions of its queue: two neighbours on a ring often, all of them rarely.

The cost of a worker does not grow with the number of workers: a group of up to 24 sessions is read whole, by
one query; in a larger one each worker reads the two sessions that follow its own in the order of the ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fanin.queue.context import QueueContext
from fanin.queue.rules import members as rules
from fanin.queue.rules.members import CROWD, Watch, owners
from fanin.queue.rules.model import Member


@dataclass
class SessionWatch:
    """The sessions as *me* knows them; *me* is the id of a session, or None in the scheduled sweep.

    *members*: as read last. *changes*: the count of changes before that. *alarmed_until*: until when all
    sessions are read at each look, because a neighbour misses heartbeats. Times are seconds of the monotonic
    clock.
    """

    context: QueueContext
    me: str | None = None
    watch: Watch = field(default_factory=Watch)
    members: Sequence[Member] = ()
    changes: int = 0
    read_at: float = 0.0
    config_at: float = 0.0
    alarmed_until: float = 0.0
    is_stale: bool = False

    def read_all(self) -> Sequence[Member]:
        """Read all sessions, consistently, and return them."""
        store, queue, at = self.context.store, self.context.key, self._now()
        if self.me is not None:  # before the sessions: a change after it is seen later
            _, self.changes = store.peek_config(queue)
        self.members = store.members(queue)
        self.watch.observe(self.members, at)
        self.read_at, self.is_stale = at, False
        return self.members

    def look(self) -> Sequence[Member]:
        """Read the sessions that are due, and return those that were read."""
        self._peek_config()
        at = self._now()
        if self._reads_all(at):
            return self.read_all()
        ids = None if len(self.members) <= CROWD else rules.neighbours(owners(self.members), self.me or "")
        seen = self.context.store.peek(self.context.key, ids)
        self.watch.note(seen, at)
        self._alarm(seen, at)
        expected = owners(self.members) if ids is None else ids
        self.is_stale = self.is_stale or sorted(owners(seen)) != sorted(expected)
        return self.read_all() if self._reads_all(at) else seen

    def expired(self, members: Sequence[Member]) -> list[Member]:
        """Return those of *members* that are to be ended."""
        return self.watch.suspects(members, self._now(), self.context.effects.now())

    def _alarm(self, seen: Sequence[Member], at: float) -> None:
        """Where a neighbour misses heartbeats for half its expiry, read all at each look for one expiry.

        The sessions that watch others may have crashed with it: from now on this worker watches them too.
        """
        if any(self.watch.misses_heartbeats(member, at) for member in seen):
            self.alarmed_until = at + self.context.options.expiry

    def _reads_all(self, at: float) -> bool:
        """Return whether all sessions are to be read at *at*."""
        sessions, passed = len(self.members), at - self.read_at
        is_crowd = sessions > CROWD
        if self.is_stale and passed >= rules.change_seconds(sessions):
            return True
        return is_crowd and (at < self.alarmed_until or passed >= rules.look_seconds(sessions))

    def _peek_config(self) -> None:
        """Once a heartbeat, look for changes of the sessions and of the config."""
        at = self._now()
        if at - self.config_at < self.context.options.heartbeat * 0.9:
            return
        revision, changes = self.context.store.peek_config(self.context.key)
        self.config_at = at
        self.is_stale = self.is_stale or changes > self.changes
        self.context.refresh(revision)

    def _now(self) -> float:
        return self.context.effects.monotonic()
