"""The rule of a session whose row is gone, left out."""

from __future__ import annotations

from fanin.queue.memory import MemoryStore
from fanin.queue.rules.model import Member
from tests.simulating.mutants import Mutant

_beat = MemoryStore.beat


def _beat_or_begin(self, queue, session, expires_us):
    """A heartbeat whose row is gone writes one."""
    if session not in self._members(queue):
        self._members(queue)[session] = Member(session, True, expires_us, 5_000_000, "", 0, 0)
    return _beat(self, queue, session, expires_us)


EXPIRY_MUTANTS = (Mutant("a heartbeat begins no session", (MemoryStore, "beat", _beat_or_begin)),)
