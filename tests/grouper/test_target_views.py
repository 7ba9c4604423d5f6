"""What the list of targets shows of the lanes of a target, and where its pages end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.grouper import Bundle, BundleState, Grouper, Lane, NewTask, Policies, Policy
from fanin.grouper.rules.ids import slot_of
from fanin.grouper.rules.model import Lease
from fanin.grouper.store import Page
from tests.grouper.conftest import START, TENANT, Bench
from tests.scripted import Scripted

DELAY = timedelta(seconds=60)
SECOND = timedelta(seconds=1)


class Views:
    """The targets of a tenant under one policy, on a store whose answers the test may set."""

    def __init__(self, **policy):
        self.bench = Bench(Policy(max_delay=DELAY, **policy))
        self.store = Scripted(self.bench.store)
        world = replace(self.bench.world, store=self.store, policies=Policies(default=self.bench.policy))
        self.grouper = Grouper(world)

    def lead(self, *names):
        """Write a lease of each target, so that it is listed."""
        for name in names:
            self.bench.store.write_lease(Lease(Lane(TENANT, name, "0"), 1, None, START))

    def view(self):
        self.lead("search")
        (view,) = self.grouper.targets(TENANT).rows
        return view

    def bundle(self, fence, *, shard=0, state=BundleState.READY, members=("a",)):
        made = Bundle(Lane(TENANT, "search", str(shard)), fence, state, members, 1, START, START + DELAY)
        self.bench.store.write_bundle(made)
        return made

    def register(self, shard=0, shards=1, count=1):
        """Register so many tasks in a shard."""
        serial = len(self.bench.store.stored_tasks) * 1000
        names = (f"task-{number}" for number in range(serial, serial + 1000))
        for name in [name for name in names if slot_of(name, shards) == shard][:count]:
            self.bench.grouper.register(TENANT, NewTask(1, "search", name))


def test_a_page_ends_at_sixty_four_lanes():
    views = Views()
    names = [f"target-{number:03d}" for number in range(65)]
    views.lead(*names)
    first = views.grouper.targets(TENANT, limit=100)
    second = views.grouper.targets(TENANT, limit=100, cursor=first.cursor)

    assert [[each.target for each in page.rows] for page in (first, second)] == [names[:64], names[64:]]
    assert second.cursor is None


@pytest.mark.parametrize(
    ("shards", "bundles", "seen"), [(1, 9, 9), (1, 11, 10), (2, 6, 10), (4, 4, 12), (16, 2, 16)]
)
def test_the_ten_newest_bundles_of_a_target_are_seen_and_at_least_one_of_each_lane(shards, bundles, seen):
    views = Views(shards=shards)
    for fence in range(bundles):
        for shard in range(shards):
            views.bundle(fence, shard=shard)

    assert views.view().in_flight == seen


@pytest.mark.parametrize("state", BundleState)
def test_a_bundle_is_in_flight_until_it_ends(state):
    views = Views()
    views.bundle(1, state=state)
    views.bundle(2)

    assert views.view().in_flight == (1 if state.ended else 2)


def test_a_bundle_that_was_deleted_or_is_void_since_it_was_listed_is_not_in_flight():
    views = Views()
    void, kept = views.bundle(1, members=()), views.bundle(2)
    gone = replace(kept, fence=3)
    views.store.scripts["bundles_of"] = lambda *_: Page([gone.key, kept.key, void.key])

    assert views.view().in_flight == 1


def test_the_next_window_is_that_of_the_lane_whose_window_ends_first():
    views = Views(shards=2)
    views.register(shard=1, shards=2)
    views.bench.clock.at += SECOND
    views.register(shard=0, shards=2)

    assert views.view().next_window_at == START + DELAY


@pytest.mark.parametrize(("tasks", "window"), [(2, START + DELAY), (3, START + SECOND), (4, START + SECOND)])
def test_a_window_ends_now_if_the_tasks_that_wait_fill_a_bundle(tasks, window):
    views = Views(max_size=3)
    views.register(count=1)
    views.bench.clock.at += SECOND
    views.register(count=tasks - 1)

    assert views.view().next_window_at == window
