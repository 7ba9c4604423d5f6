"""A run from a seed to its outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

from fanin.client.argument_checks import checking
from fanin.client.handing_over import under_work
from tests.simulating.room import Outcome, played
from tests.simulation_seams import aftermath, scenario
from tests.simulation_seams.scenario import CALLBACKS
from tests.simulation_seams.world import Thread, World


def simulate(seed: int, lines: list[str] | None = None) -> Outcome:
    """Run the scenario of *seed* under its own schedule and faults; *lines* takes each request down."""
    random = Random(seed)
    drawn = scenario.with_ways(scenario.draw(random), Random(f"{seed}, threads"))
    drawn = scenario.with_workers(drawn, Random(f"{seed}, workers"))
    if seed % 8 == 7:  # the others stay as they are
        drawn = scenario.with_bounds(drawn, Random(f"{seed}, bounds"))
    drawn = scenario.with_results(drawn, Random(f"{seed}, results"))
    return play(World(drawn, random, lines))


def play(world: World) -> Outcome:
    """Run a world to its end, or to the first promise that breaks."""
    own = {
        "_all": _OfProcess(lambda: world.under_work),
        "_returned": _OfProcess(lambda: world.returned),
        "_deliveries": _OfProcess(lambda: world.deliveries),
        "_owned": _OfProcess(lambda: world.owned),
        "_thread": _OfActor(world),
    }
    with patch.object(checking, "uuid4", world.new_id), patch.multiple(under_work, **own):
        violation = played(world.run, lambda: aftermath.check(world))
    return Outcome(violation, world.network.requests, world.network.faults, _events(world))


@dataclass
class _OfProcess:
    """What the process of the running actor notes: no process of a run is forked."""

    value: Callable[[], Any]
    inherited = ()

    def __call__(self) -> Any:
        return self.value()


class _OfActor:
    """What the thread of the running actor notes: all actors are greenlets of one thread."""

    def __init__(self, world: World) -> None:
        vars(self)["of"] = lambda: Thread() if world.loop.actor is None else world.loop.actor.place

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.of(), name, value)


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
