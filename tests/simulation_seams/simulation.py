"""A run from a seed to its outcome."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any
from unittest.mock import patch

from fanin.client import handing
from fanin.client.checks import checking
from tests.simulating.room import Outcome, played
from tests.simulation_seams import aftermath, scenario
from tests.simulation_seams.scenario import CALLBACKS
from tests.simulation_seams.world import World


def simulate(seed: int, lines: list[str] | None = None) -> Outcome:
    """Run the scenario of *seed* under its own schedule and faults; *lines* takes each request down."""
    random = Random(seed)
    drawn = scenario.with_ways(scenario.draw(random), Random(f"{seed}, threads"))
    return play(World(drawn, random, lines))


def play(world: World) -> Outcome:
    """Run a world to its end, or to the first promise that breaks."""
    own = {"_all": lambda: world.under_work, "_thread": _OfActor(world)}
    with patch.object(checking, "uuid4", world.new_id), patch.multiple(handing, **own):
        violation = played(world.run, lambda: aftermath.check(world))
    return Outcome(violation, world.network.requests, world.network.faults, _events(world))


class _OfActor:
    """The place of the running actor: all actors are greenlets of one thread."""

    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def place(self) -> Any:
        actor = self.world.loop.actor
        return handing._Place() if actor is None else actor.place


def _events(world: World) -> Counter[str]:
    """Return what kinds of things the run saw, to know that the simulation goes where it says."""
    events = Counter(world.events)
    for batch in world.memory.batches.values():
        events[f"{'child' if batch.parent_item_id else 'root'} {batch.result}"] += 1
    events["deleted"], events["reopened"] = len(world.referee.deleted), len(world.referee.reopened)
    for _, mark in world.memory.reports:
        events[f"reported {mark.partition(':')[0]}"] += 1
    events["tasks resumed"] = len(world.workflows.ended)
    events["webhooks"] = world.webhook.arrived.total()
    events["callbacks"] = sum(world.bus.arrived[each] for each in world.bus.arrived if each[0] in CALLBACKS)
    return +events
