"""What the short run of each simulator is: its seeds, and what they have to meet."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from fanin.tracker import Mode
from tests.simulating.kills import known_seeds
from tests.simulating.room import Room
from tests.simulating.run import Tally, run_seeds
from tests.simulation import mutants as tracker
from tests.simulation.possible import POSSIBLE
from tests.simulation_grouper import mutants as grouper
from tests.simulation_parts import mutants as parts
from tests.simulation_queue import mutants as queue
from tests.simulation_seams import mutants as seams

SEEDS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Smoke:
    """The short run of a simulator. *rules*: its module of broken rules, whose known seeds are run.

    *seeds*, and as many *races*: the first ones are run; *rare*: seeds that met what few do. *faults*,
    *events* and *requests*: what all of them meet. *to_kill*: seeds that a broken rule may survive.
    """

    rules: Any
    seeds: int
    faults: Collection[str]
    events: Collection[str] = ()
    requests: Collection[str] = ()
    rare: tuple[int, ...] = ()
    races: int = 0
    to_kill: int = 2000

    @property
    def room(self) -> Room:
        """The simulator."""
        return self.rules.ROOM  # type: ignore[no-any-return]

    def missed(self) -> tuple[list[tuple[int, str, str]], set[str]]:
        """Run the seeds, and others until all is met; return the broken promises, and what was not met."""
        tally = run_seeds(self.room.simulate, dict.fromkeys([*self.rare, *range(self.seeds)]))
        for seed in range(self.seeds, SEEDS_MAX):
            if not self._unmet(tally):
                break
            tally.note(seed, self.room.simulate(seed))
        races = run_seeds(self.room.race, range(self.races)).violations if self.room.race else []
        return tally.violations + races, self._unmet(tally)

    def known_seeds(self) -> Iterable[int]:
        """Return the seeds that notice a broken rule, but for those of rules whose loss shows seldom."""
        known = known_seeds(self.room)
        return (known[each.rule] for each in self.rules.MUTANTS if each.rule in known and not each.since)

    def _unmet(self, tally: Tally) -> set[str]:
        missed = {*self.faults} - {*tally.faults} | {*self.requests} - {*tally.requests}
        return missed | {*self.events} - {*tally.events}


LATE = ("late copy", "stalled", "lost after", "repeated", "crash before", "crash after", "throttled")
TRACKER_ENDS = ("succeeded", "completed_with_failures", "cancelled", "timed_out", "expired")
SEAMS_ENDS = (*TRACKER_ENDS, "too_many_failures")
SENT_BY_THE_CALLERS = {"is_put", "mark_put"}
"""Requests about an event that was put at once, which the seams' simulator sends."""

SMOKES = {
    "tracker": Smoke(
        tracker,
        seeds=30,
        rare=(35, 37, 53, 56, 129, 138, 145, 208, 360, 386, 528, 1399),
        races=30,
        faults={fault.name for faults in POSSIBLE.values() for fault in faults},
        requests=set(POSSIBLE) - SENT_BY_THE_CALLERS,
        events={
            *("notified closer", "notified ack", "notified none", "exact too_many_failures", "exact enough"),
            *(f"pages of level {level}" for level in range(4)),
            *(f"{mode} {end}{child}" for mode in Mode for end in TRACKER_ENDS for child in ("", " child")),
        },
        to_kill=1000,
    ),
    "group-batcher": Smoke(
        grouper,
        seeds=30,
        rare=(65, 336),
        faults=(*LATE, "lost before", "paused", "clock set"),
        events={
            *("tasks succeeded", "tasks failed", "tasks dead", "voids", "calm runs", "bundles failed"),
            *("came again", "came too early", "rows deleted"),
        },
    ),
    "work queue": Smoke(
        queue,
        seeds=10,
        rare=(20, 46, 94),
        faults=(*LATE, "paused", "clock set"),
        events={
            *("lost claims", "closed", "visits", "sweeps", "rejected", "job deleted", "job inProgress"),
            *("removals", "removed", "revived", "came again", "repeated adds", "marks deleted"),
        },
        requests=("ring", "receive", "unring"),
    ),
    "raised parts": Smoke(
        parts,
        seeds=0,
        rare=(11, 938),
        faults=(*LATE, "paused"),
        events=("rejected", "revived", "repeated adds", "marks deleted"),
        requests=("move", "page", "rerun", "revive"),
    ),
    "seams": Smoke(
        seams,
        seeds=30,
        rare=(120, 142, 242, 8623),
        faults=(*LATE, "killed"),
        events={
            *(f"handed to a {kind}" for kind in ("child", "task", "job", "report")),
            *("deliveries in threads", "returned in order", "done by hand"),
            *("poisoned", "dead-letter messages", "lost records", "lost puts"),
            *("callbacks", "webhooks", "tasks resumed", "put at once", "deleted", "reopened"),
            *(f"reported {mark}" for mark in ("first_failure", "50", "90", "stuck")),
            "root enough",
            *(f"{batch} {end}" for batch in ("root", "child") for end in SEAMS_ENDS),
        },
        to_kill=3000,
    ),
}
