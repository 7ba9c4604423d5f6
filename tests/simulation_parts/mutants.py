"""The rules of a raise, each left out once: ``python -m tests.simulation_parts.mutants --seeds 2000``.

Two rules show too seldom here, and are broken in the contract of the stores: that a check compares the
generation of the other row, and a change of the config the revision.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from fanin.queue import context, producer
from fanin.queue.config_cache import ConfigCache
from fanin.queue.maintenance import raise_phases
from fanin.queue.maintenance.raise_phases import Drain
from fanin.queue.memory import MemoryStore
from fanin.queue.rules import lifecycle
from fanin.queue.rules.config import Phase
from fanin.queue.rules.key_rows import KeyRows, rows_of
from tests.simulating.mutants import Mutant, drive
from tests.simulation_parts.run import ROOM

_seconds, _move, _after = raise_phases._seconds, MemoryStore.move, lifecycle._after


def _rows_unchecked(phase):
    """The adds of a phase check no other part."""

    def rows(config, queue, name):
        found = rows_of(config, queue, name)
        return KeyRows(found.at) if config.phase is phase else found

    return rows


def _rows_at_once(config, queue, name):
    """Jobs are stored at the new part from the first phase on."""
    found = rows_of(config, queue, name)
    return KeyRows(found.other, found.at) if config.phase is Phase.PREPARING and found.other else found


def _no_settling_of(*phases):
    return lambda phase: 0 if phase in phases else _seconds(phase)


def _drained_at_first_sight(context, config):
    return replace(config, phase=Phase.EXPIRING, since_us=None, cursor="")


def _past_what_is_stuck(context, config):
    """The cursor goes on past a live job."""
    drain = Drain(context, config)
    drain.read_page()
    over = drain.is_over()
    return (
        replace(config, phase=Phase.EXPIRING, since_us=None, cursor="")
        if over
        else replace(config, cursor=drain.cursor)
    )


def _move_in_two_steps(self, seen, job, over, at):
    """The job is stored at the new part whatever became of the old row."""
    if not lifecycle.may_be_added(self.stored.get(job.key), over):
        return False
    self._put(job)
    if lifecycle.may_be_moved(self.stored.get(seen.key), seen):
        self._put(lifecycle.moved_mark(seen, at))
    return True


def _move_without_a_mark(self, seen, job, over, at):
    moved = _move(self, seen, job, over, at)
    if moved:
        del self.stored[seen.key]
    return moved


def _move_over_any(self, seen, job, over, at):
    if not lifecycle.may_be_moved(self.stored.get(seen.key), seen):
        return False
    self._put(lifecycle.moved_mark(seen, at))
    self._put(job)
    return True


def _moved_as_seen_before(stored, seen):
    """A move compares the state of the job alone."""
    return stored is not None and stored.is_live and stored.id == seen.id


def _after_without_before(job, over):
    """A new job names none before it."""
    return replace(_after(job, over), before=job.before)


MUTANTS = (
    Mutant(
        "adds check the new part while a raise is prepared",
        (context, "rows_of", _rows_unchecked(Phase.PREPARING)),
    ),
    Mutant(
        "adds check the old part while it is drained", (context, "rows_of", _rows_unchecked(Phase.DRAINING))
    ),
    Mutant(
        "adds check the old part while its marks expire",
        (context, "rows_of", _rows_unchecked(Phase.EXPIRING)),
    ),
    Mutant("a raise is prepared at the old part", (context, "rows_of", _rows_at_once)),
    Mutant("the first phase settles", (raise_phases, "_seconds", _no_settling_of(Phase.PREPARING))),
    Mutant("the second phase settles", (raise_phases, "_seconds", _no_settling_of(Phase.DRAINING))),
    Mutant(
        "marks expire before the old part is not checked",
        (raise_phases, "_seconds", _no_settling_of(Phase.EXPIRING)),
    ),
    Mutant("a check refuses", (MemoryStore, "_holds", lambda self, check: True)),
    Mutant("the old parts are drained", (raise_phases, "_drained", _drained_at_first_sight)),
    Mutant(
        "an old part is drained up to its first live job", (raise_phases, "_drained", _past_what_is_stuck)
    ),
    Mutant(
        "a job that was added before is known by its other mark",
        (producer, "_decides", lambda seen, job: seen.is_live),
    ),
    Mutant("a job names those of its key before it", (lifecycle, "_after", _after_without_before)),
    Mutant("a move is one transaction", (MemoryStore, "move", _move_in_two_steps)),
    Mutant("a moved job leaves a mark", (MemoryStore, "move", _move_without_a_mark)),
    Mutant("a move compares the old row", (lifecycle, "may_be_moved", _moved_as_seen_before)),
)

EQUIVALENT = (
    (
        Mutant("a move compares the new row", (MemoryStore, "move", _move_over_any)),
        "while the job is live in its old row, each add and revival that would change the new one is refused",
    ),
    (
        Mutant(
            "a config is used for a bounded time",
            (ConfigCache, "fresh", lambda self, now, wall_us: self.config),
        ),
        "each add reads the config after its write, so that no process of these schedules uses an old one for"
        " its next; tests/queue/test_service.py lets a minute pass",
    ),
)


if __name__ == "__main__":
    sys.exit(drive(ROOM, MUTANTS, EQUIVALENT))
