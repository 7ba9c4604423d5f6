"""The rules of order, delays, sharing, counting, watching and rings, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.queue import producer
from fanin.queue.administration import part_reads
from fanin.queue.maintenance import maintenance
from fanin.queue.maintenance.maintenance import SessionWatch
from fanin.queue.memory import MemoryStore
from fanin.queue.rules import order
from fanin.queue.rules.model import SECOND_US
from fanin.queue.sessions.claims import CLAIM_ROUNDS, Claims
from tests.simulating.mutants import Mutant

HOUR_US = 3_600 * SECOND_US
_outstanding, _is_outstanding = MemoryStore.outstanding, part_reads._is_outstanding


def _take_part_by_part(self, parts, most):
    """The heads of the parts are claimed in the order of the parts."""
    for attempt in range(CLAIM_ROUNDS):
        heads = [entry for part in parts for entry in self.context.store.ready(self.context.part(part), most)]
        taken = self.take_these(heads, most)
        if taken or not heads:
            return taken
        self.context.effects.pause(attempt)
    return []


def _by_time_alone(priority, added_us):
    return f"{order.READY}{added_us:020d}"


def _all_parts(parts, sessions, me):
    return range(parts) if me in sessions else range(0)


def _rounded_up(parts, sessions, me):
    """Each session owns as many parts, and the last one what is left of them."""
    ranks = sorted(sessions)
    if me not in ranks:
        return range(0)
    i, share = ranks.index(me), -(-parts // len(ranks))
    return range(i * share, min(parts - 1, (i + 1) * share))


def _live_sessions(found):
    return [member.id for member in found if member.live]


def _collide_with_any(self, seen):
    """A collision counts on whatever job the key has by now."""
    job = self.stored.get(seen.key)
    if job is not None and job.is_live:
        self._put(replace(job, collisions=job.collisions + 1))


def _ring_or_fail(self, rings, delay=0.0):
    self.at_doorbell(lambda bell: bell.ring(rings, delay))


def _announce_or_fail(self, added):
    for request, part in added:
        _ring_or_fail(self.context, [producer.Ring(part, due=request.delay > 0)], request.delay)


def _pop_by_the_wall_clock(self, most):
    """Jobs that were freed long ago by the wall clock are dropped."""
    late = self.context.effects.now() - round(2 * self.context.options.expiry * SECOND_US)
    fresh = [entry for _, entry in self.freed if entry.ready_us > late]
    self.freed = [(self.context.effects.monotonic(), entry) for entry in fresh[most:]]
    return fresh[:most]


CLAIM_MUTANTS = (
    Mutant("the heads of all parts are claimed by priority", (Claims, "take", _take_part_by_part)),
    Mutant("a part lists its ready jobs by priority", (order, "ready", _by_time_alone)),
    Mutant(
        "a delayed job waits until it is due",
        (MemoryStore, "outstanding", lambda self, part, now: _outstanding(self, part, now + HOUR_US)),
    ),
    Mutant(
        "a sweep promotes due jobs only",
        (part_reads, "_is_outstanding", lambda entry, now: _is_outstanding(entry, now + HOUR_US)),
    ),
    Mutant("a part belongs to one session", (maintenance, "owned", _all_parts)),
    Mutant("each part belongs to a session", (maintenance, "owned", _rounded_up)),
    Mutant(
        "sessions without a heartbeat own no parts",
        (maintenance, "owners", _live_sessions),
        (maintenance, "owners", _live_sessions),
    ),
    Mutant("a collision counts on the job that it met", (MemoryStore, "collide", _collide_with_any)),
    Mutant("a collision is counted", (producer.Producer, "_refuse", lambda self, stored: stored.state)),
    Mutant(
        "sessions are watched by the monotonic clock",
        (SessionWatch, "_now", lambda self: self.context.effects.now() / SECOND_US),
    ),
    Mutant(
        "freed jobs are kept by the monotonic clock",
        (maintenance.Maintenance, "pop_freed", _pop_by_the_wall_clock),
        since=1069,
    ),
    Mutant("a ring that fails fails nothing else", (producer.Producer, "_announce", _announce_or_fail)),
)
