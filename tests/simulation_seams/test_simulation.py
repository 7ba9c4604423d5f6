"""What no seed of the seams draws: a fan-out of any depth, and processes killed or frozen at each request."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from fanin.local.emulator_patches.lineage import INVOCATIONS_MAX
from tests.simulating.faults import CRASH_AFTER, CRASH_BEFORE
from tests.simulation_seams.scenario import CHILD, WORK, BatchScript, Plan, Scenario
from tests.simulation_seams.simulation import play
from tests.simulation_seams.workers import VISIBILITY
from tests.simulation_seams.world import World


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
    depth, options = INVOCATIONS_MAX + 4, {"parent_fails_on": "any"}
    world.outside._plan = lambda at: Plan(CHILD if at < depth else WORK, adds=(1,), options=options)
    return world


@pytest.mark.parametrize("crash", [CRASH_BEFORE, CRASH_AFTER], ids=lambda crash: crash.name)
def test_a_publisher_killed_at_any_request_and_run_again_sends_and_ends_all_items(crash):
    for place in count():
        world = published(crash, place)
        assert play(world).violation is None
        (root,) = world.memory.batches.values()
        assert (root.result, root.total) == ("succeeded", 3)
        assert all(item.is_done for item in world.outside.items.values())
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


@pytest.mark.parametrize("end", [CRASH_BEFORE, CRASH_AFTER, None], ids=["before", "after", "frozen"])
def test_what_a_worker_has_in_flight_that_is_killed_or_frozen_at_any_request_is_done(end):
    for place in count():
        world, ends = worked(end, place)
        assert play(world).violation is None
        (root,) = world.memory.batches.values()
        assert (root.result, root.total) == ("succeeded", 3)
        if not ends:
            assert place > 8
            break


def worked(end, place):
    """A batch of three items, whose first worker is killed or frozen at its request of that number."""
    script = BatchScript("root", (2, 1))
    scenario = Scenario((script,), page_bits=2, longest=0.1, workers=1, freezes=1)
    world = World(scenario, Random(0), None)
    world.freezes = 0
    requests, ends = count(), []

    def fault(name):
        if not world.loop.actor.name.endswith("work worker") or next(requests) != place:
            return None
        ends.append(place)
        if end is None:
            world.workers[0].freeze(3 * VISIBILITY)
        return end

    world.network.fault = fault
    return world, ends
