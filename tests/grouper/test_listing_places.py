"""Where the pages of a list end and the next ones begin, over all shards of a target."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper import Bundle, BundleState, Lane, Outcome, Policies, Policy, Task, TaskState, Verdict
from fanin.grouper.listing import BundledPlace, TaskList, WaitingPlace
from fanin.grouper.rules.model import Status
from fanin.grouper.store import Page
from tests.grouper.conftest import START, TENANT, Bench
from tests.scripted import Scripted

DAY = timedelta(days=1)


class Lists:
    """The lists of a target of three shards, whose store notes its requests."""

    def __init__(self, shards=3):
        bench = Bench(Policy(shards=shards))
        self.at, self.store = bench.clock.at, Scripted(bench.store)
        policies = Policies(default=bench.policy)
        world = replace(bench.world, store=self.store, policies=policies)
        self.timing = world.timing
        self.list = TaskList(world, TENANT, "search")

    def task(self, name, shard, **facts):
        facts = {"state": TaskState.CREATED, "due_at": self.at, "expires_at": self.at + DAY} | facts
        made = Task(
            tenant=TENANT,
            task_id=name,
            shard=str(shard),
            payload="1",
            priority=0,
            item_id=None,
            attempts=0,
            created_at=self.at,
            **{"target": "search"} | facts,
        )
        self.store.real.write_task(made)
        return made

    def bundle(self, fence, shard, *members, **facts):
        lane = Lane(TENANT, "search", str(shard))
        made = Bundle(lane, fence, BundleState.READY, members, 1, self.at, self.at + DAY, attempt=1)
        made = replace(made, **facts)
        self.store.real.write_bundle(made)
        for name in members:
            self.task(name, shard, state=TaskState.BUNDLED, bundle_id=made.bundle_id)
        return made

    def waiting(self, limit, place=None):
        found, after = self.list.waiting(limit, place or WaitingPlace())
        return "".join(each.task_id for each in found), after

    def bundled(self, limit, place=None, wanted=Status.BUNDLED):
        found, after = self.list.bundled(wanted, limit, place or BundledPlace())
        return "".join(each.task_id for each in found), after


def test_waiting_tasks_are_listed_shard_by_shard_up_to_the_limit():
    lists = Lists()
    for name, shard in (("a", 0), ("b", 0), ("c", 1), ("d", 2)):
        lists.task(name, shard)
    first, after = lists.waiting(1)

    assert (first, after.shard, lists.waiting(1, after)) == ("a", 0, ("b", WaitingPlace(1)))
    assert lists.waiting(2) == ("ab", WaitingPlace(1))
    assert lists.waiting(3) == ("abc", WaitingPlace(2))
    assert lists.waiting(4) == lists.waiting(5) == ("abcd", None)
    assert lists.waiting(2, WaitingPlace(1)) == ("cd", None)
    assert [limit for _, limit, _ in lists.store.of("waiting")][-2:] == [2, 1]
    lists.store.made.clear()
    lists.waiting(9)
    assert [(lane.shard, limit) for lane, limit, _ in lists.store.of("waiting")] == [
        ("0", 9),
        ("1", 7),
        ("2", 6),
    ]


def test_a_task_is_listed_until_it_expires():
    lists = Lists()
    oldest = lists.at - lists.timing.pending
    lists.task("a", 0, due_at=oldest)
    lists.task("b", 0, due_at=oldest + timedelta(microseconds=1))

    assert lists.waiting(9) == ("b", None)


@pytest.mark.parametrize("limit", [0, 1001])
def test_each_list_is_bounded(limit):
    with pytest.raises(InvalidRequest):
        Lists().waiting(limit)
    with pytest.raises(InvalidRequest):
        Lists().bundled(limit)


def test_bundled_tasks_are_listed_from_the_newest_bundle_and_shard_by_shard():
    lists = Lists()
    lists.bundle(1, 0, "a", "b")
    lists.bundle(2, 0, "c")
    lists.bundle(3, 2, "d")

    assert lists.bundled(1) == ("c", BundledPlace(0, 3, 1))
    assert lists.bundled(2) == ("ca", BundledPlace(0, 2, 1))
    assert lists.bundled(9) == ("cab", BundledPlace(1))
    assert lists.bundled(9, BundledPlace(0, 2, 1)) == ("b", BundledPlace(1))
    assert lists.bundled(9, BundledPlace(0, 3, 1)) == ("ab", BundledPlace(1))
    assert lists.bundled(9, BundledPlace(1)) == ("", BundledPlace(2))
    assert lists.bundled(9, BundledPlace(2)) == ("d", None)


def test_bundles_that_are_gone_void_or_expired_are_left_out_and_those_after_them_are_listed():
    lists = Lists()
    kept = lists.bundle(1, 0, "a")
    lists.bundle(2, 0, "b", expires_at=lists.at)
    void = lists.bundle(3, 0)
    keys = [void.key, replace(void, fence=9).key, replace(kept, fence=2).key, kept.key]
    lists.store.scripts["bundles_of"] = lambda *_: Page(keys)

    assert lists.bundled(9) == ("a", BundledPlace(1))


def test_a_page_of_bundled_tasks_reads_a_hundred_of_them():
    lists = Lists(shards=1)
    lists.bundle(1, 0, *(f"{number:03}," for number in range(150)))
    first, after = lists.bundled(1000)

    assert (first.count(","), after) == (100, BundledPlace(0, 2, 100))
    assert (lists.bundled(1000, after)[0].count(","), lists.bundled(1000, after)[1]) == (50, None)
    assert [len(keys) for (keys,) in lists.store.of("tasks")] == [100, 50, 50]


@pytest.mark.parametrize(
    ("facts", "listed"),
    [({}, "a"), ({"target": "mail"}, ""), ({"expires_at": START}, ""), ({"bundle_id": "other"}, "")],
)
def test_a_task_is_listed_with_the_bundle_that_it_is_in(facts, listed):
    lists = Lists(shards=1)
    made = lists.bundle(1, 0, "a")
    lists.task("a", 0, **{"state": TaskState.BUNDLED, "bundle_id": made.bundle_id} | facts)

    assert lists.bundled(9)[0] == listed


@pytest.mark.parametrize(
    ("wanted", "shard", "listed"),
    [(Status.IN_PROGRESS, "part-x-0", "a"), (Status.BUNDLED, "part-x-0", ""), (Status.IN_PROGRESS, "1", "")],
)
def test_a_part_of_a_divided_bundle_is_listed_with_it_in_its_own_state(wanted, shard, listed):
    lists = Lists(shards=1)
    apart = (Outcome(Verdict.APART),) * 2
    lists.bundle(1, 0, "a", "b", state=BundleState.FAILED, outcomes=apart)
    part = lists.bundle(2, shard, state=BundleState.CALLING)
    part = replace(part, members=("a",))
    lists.store.real.write_bundle(part)
    lists.task("a", shard, state=TaskState.BUNDLED, bundle_id=part.bundle_id)
    lists.task("b", 0, state=TaskState.BUNDLED, bundle_id=part.bundle_id)

    assert lists.bundled(9, wanted=wanted)[0] == listed
