"""The rules of sleeping and removed queues, and of sessions whose row is gone, each left out once."""

from __future__ import annotations

from dataclasses import replace

from fanin.errors import Conflict
from fanin.queue import producer
from fanin.queue.administration import removing
from fanin.queue.context import QueueContext
from fanin.queue.maintenance import sleeping
from fanin.queue.maintenance.maintenance import Maintenance
from fanin.queue.memory import MemoryStore
from fanin.queue.rules.model import Member
from tests.simulating.mutants import Mutant

_observed, _proceed = sleeping.observed, removing.proceed
_beat, _remove = MemoryStore.beat, MemoryStore.remove


def _idle_and_asleep_at_once(config, in_use, now, settle):
    """The queue sleeps after the look that found nothing, without another one."""
    if in_use or config.idle_us is not None:
        return _observed(config, in_use, now, settle)
    return replace(sleeping.idle(config, now), asleep_us=now)


def _asleep_without_settling(config, in_use, now, settle):
    return _observed(config, in_use, now, 0.0)


def _look_without_a_mark(context, before):
    if removing._has_jobs(context):
        raise Conflict("it has jobs")
    return before


def _remove_whatever_it_became(self, seen, entries):
    """The job is deleted in whatever state it is since it was seen."""
    stored = self.stored.get(seen.key)
    return stored is not None and _remove(self, stored, entries)


def _removed_without_settling(context, doorbells, settle=0.0):
    return _proceed(context, doorbells, 0.0)


def _beat_or_begin(self, queue, session, expires_us):
    """A heartbeat whose row is gone writes one."""
    if session not in self._members(queue):
        self._members(queue)[session] = Member(session, True, expires_us, 5_000_000, "", 0, 0)
    return _beat(self, queue, session, expires_us)


IDLE_MUTANTS = (
    Mutant("a heartbeat begins no session", (MemoryStore, "beat", _beat_or_begin)),
    Mutant("an add reads the config after its write", (producer, "wake", lambda context: None)),
    Mutant(
        "an add wakes a queue that it knows to be idle",
        (producer, "wake_before", QueueContext.config),
        since=700,
    ),
    Mutant("an idle queue is looked at again", (sleeping, "observed", _idle_and_asleep_at_once)),
    Mutant("an idle queue settles", (sleeping, "observed", _asleep_without_settling)),
    Mutant(
        "a queue is marked idle before its removal", (removing, "_idle", _look_without_a_mark), since=7_100
    ),
    Mutant("a removed queue settles", (removing, "proceed", _removed_without_settling), since=2_600),
    Mutant("old ready jobs are rung for", (Maintenance, "_ring_for_old", lambda self, head: None)),
)

IDLE_EQUIVALENT = (
    (
        Mutant("a removal compares the job", (MemoryStore, "remove", _remove_whatever_it_became)),
        "nothing else changes the rows of a queue that has settled; the contract tests send late copies",
    ),
)
