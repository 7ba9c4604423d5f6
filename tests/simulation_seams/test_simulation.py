"""A few hundred seeds of the seams, and every broken rule: the long run is ``tests.simulation_seams.run``."""

from __future__ import annotations

from functools import cache
from itertools import count
from random import Random

import pytest

from fanin.local.emulation.lineage import INVOCATIONS_MAX
from tests.simulating.faults import CRASH_AFTER, CRASH_BEFORE
from tests.simulating.mutants import kill
from tests.simulating.run import Tally, run_seeds
from tests.simulation_seams.mutants import MUTANTS
from tests.simulation_seams.run import ROOM
from tests.simulation_seams.scenario import CHILD, WORK, BatchScript, Plan, Scenario
from tests.simulation_seams.simulation import play, simulate
from tests.simulation_seams.world import World

SEEDS = 440
SEEDS_A_MUTANT = 3000


@cache
def short_run() -> Tally:
    """Run the first seeds, once for all tests."""
    return run_seeds(simulate, range(SEEDS))


def test_consumers_batches_owners_and_events_keep_their_promises_together():
    assert short_run().violations == []


def test_the_schedules_go_where_they_say():
    tally = short_run()
    assert min(tally.faults[kind] for kind in ("late copy", "stalled", "lost after", "repeated")) > 0
    assert min(tally.faults[kind] for kind in ("crash before", "crash after", "throttled", "killed")) > 0
    assert min(tally.events[f"handed to a {kind}"] for kind in ("child", "task", "job", "report")) > 0
    ways = ("deliveries in threads", "returned in order", "done by hand")
    assert min(tally.events[kind] for kind in ways) > 0
    assert (
        min(tally.events[kind] for kind in ("poisoned", "dead-letter messages", "lost records", "lost puts"))
        > 0
    )
    assert min(tally.events[kind] for kind in ("callbacks", "webhooks", "tasks resumed", "put at once")) > 0
    assert min(tally.events[kind] for kind in ("deleted", "reopened")) > 0
    assert min(tally.events[f"reported {mark}"] for mark in ("first_failure", "50", "90", "stuck")) > 0
    ends = ("succeeded", "completed_with_failures", "too_many_failures", "cancelled", "timed_out", "expired")
    assert min(tally.events[f"root {end}"] for end in ends) > 0
    assert min(tally.events[f"child {end}"] for end in ends) > 0


def test_a_seed_replays_to_the_letter():
    first: list[str] = []
    again: list[str] = []
    simulate(3, first)
    simulate(3, again)

    assert first
    assert first == again


@pytest.mark.parametrize(("loops", "result"), [(True, "succeeded"), (False, "completed_with_failures")])
def test_a_fan_out_grows_from_within_at_any_depth_if_its_function_may_loop(loops, result):
    world = deep(loops)

    assert play(world).violation is None
    (root,) = (batch for batch in world.memory.batches.values() if batch.parent_item_id is None)
    assert root.result == result


def deep(loops):
    """A batch whose only item opens a batch of one item, and so on, deeper than Lambda lets loops go."""
    script = BatchScript("root", (1,))
    world = World(Scenario((script,), kinds=(CHILD,), longest=0.1, loops=loops), Random(0), None)
    depth = INVOCATIONS_MAX + 4
    world.outside._plan = lambda at: Plan(CHILD if at < depth else WORK, adds=(1,))
    return world


@pytest.mark.parametrize("crash", [CRASH_BEFORE, CRASH_AFTER], ids=lambda crash: crash.name)
def test_a_publisher_killed_at_any_request_and_run_again_sends_and_ends_all_items(crash):
    for place in count():
        world = published(crash, place)
        assert play(world).violation is None
        (root,) = world.memory.batches.values()
        assert (root.result, root.total) == ("succeeded", 3)
        assert all(item.done for item in world.outside.items.values())
        if not world.network.faults[crash.name]:
            assert place > 6
            break


def published(crash, place):
    """A batch of three items, whose publisher is killed at its request of that number."""
    world = World(Scenario((BatchScript("root", (2, 1)),), page_bits=2, longest=0.1), Random(0), None)
    requests = count()

    def fault(name):
        is_publisher = world.loop.actor.name.endswith("publisher of root")
        return crash if is_publisher and next(requests) == place else None

    world.network.fault = fault
    return world


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_broken_rule_is_noticed(mutant):
    assert kill(ROOM, mutant, SEEDS_A_MUTANT)
