"""A run from a seed to its outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from fanin.tracker import service
from fanin.tracker.batch_changes import climb
from fanin.tracker.reads import progress as looking
from fanin.tracker.rules import model
from tests.simulating.room import Outcome, played
from tests.simulation import aftermath, costs, enough, key_expiry, lifecycles, scenario
from tests.simulation.choices import Choices, RandomChoices
from tests.simulation.scenario import Scenario
from tests.simulation.trace import Trace
from tests.simulation.world import World

PLAIN_SHARE = 0.5
"""The part of the seeds that see no more than adds, closes and acks."""


def simulate(seed: int, lines: list[str] | None = None) -> Outcome:
    """Run the scenario of *seed*, under the schedule and the faults of *seed*."""
    random = Random(seed)
    if enough.is_due(seed):
        drawn = enough.draw(random)
    else:
        drawn = scenario.draw(random) if random.random() < PLAIN_SHARE else lifecycles.draw(random)
    return _played_at_random(drawn, random, lines)


def race(seed: int, lines: list[str] | None = None) -> Outcome:
    """Run the race of *seed*: a small scenario in which things meet."""
    random = Random(seed)
    drawn = enough.draw_race(random) if enough.is_due(seed) else lifecycles.draw_race(random)
    return _played_at_random(drawn, random, lines)


def _played_at_random(drawn: Scenario, random: Random, lines: list[str] | None) -> Outcome:
    trace = Trace(lines) if lines is not None else None
    return play(drawn, random, RandomChoices(random, drawn.struck), trace)


def play(drawn: Scenario, random: Random, choices: Choices, trace: Trace | None = None) -> Outcome:
    """Run a scenario to its end, or to the first promise that breaks."""
    with _tuned(drawn):
        world = World(drawn, random, choices, trace)
        events: Counter[str] = Counter()
        violation = played(world.run, lambda: _check(world, events))
        return Outcome(violation, world.store.requests, world.store.faults, events)


def _check(world: World, events: Counter[str]) -> None:
    """The end of the run, and the end of what it left behind; *events* is filled in between."""
    aftermath.check(world)
    events.update(_events(world))
    costs.check(world)
    key_expiry.check(world)


def _events(world: World) -> Counter[str]:
    """What kinds of batches the run saw, to know that the simulation goes where it says."""
    events: Counter[str] = Counter()
    for ledger in world.ledgers:
        notified = "".join(ledger.notified)
        events["keys of a second batch"] += len(ledger.opened_as) > 1
        events["items of several children"] += any(add.siblings > 1 for add in ledger.added)
        events["notified " + ("closer" if "closer" in notified else "ack" if notified else "none")] += 1
    for batch in world.memory.batches.values():
        child = " child" if batch.parent_item_id else ""
        events[f"{batch.mode} {batch.result}{child}"] += 1
    for key in world.memory.stored_pages:
        events[f"pages of level {key.level}"] += 1
    return events


@contextmanager
def _tuned(drawn: Scenario) -> Iterator[None]:
    """Small limits, so that the paths for large requests are taken by small ones."""
    before = climb.GUARDED_DIGITS, looking.PAGES_A_LEVEL, model.ESTIMATED_LEAF
    cancels = service.CANCELS_A_REQUEST
    service.CANCELS_A_REQUEST = drawn.page_bits[0] % 2
    climb.GUARDED_DIGITS, looking.PAGES_A_LEVEL = drawn.guarded_digits, drawn.pages_a_level
    model.ESTIMATED_LEAF = drawn.estimated_leaf
    try:
        yield
    finally:
        climb.GUARDED_DIGITS, looking.PAGES_A_LEVEL, model.ESTIMATED_LEAF = before
        service.CANCELS_A_REQUEST = cancels
