"""Lists of tasks by state, and of targets: what they show, and where their bounded pages end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper import (
    Answer,
    Isolation,
    Lane,
    Outcome,
    Policies,
    Policy,
    Status,
    Verdict,
)
from fanin.grouper.listing import BUNDLES_A_PAGE, TASKS_A_PAGE, BundledPlace, WaitingPlace
from fanin.grouper.rules.model import Lease
from tests.grouper.conftest import TENANT, Bench

TARGET = "search"


FAIL, RETRY = Outcome(Verdict.FAIL, "no"), Outcome(Verdict.RETRY, "busy")


def listed(bench, state, limit=2):
    """All tasks in *state*, page by page, and the number of pages."""
    tasks, found, pages = bench.grouper.tasks(TENANT, TARGET), [], 0
    place = WaitingPlace() if state is Status.CREATED else BundledPlace()
    while place is not None:
        rows, place = (
            tasks.waiting(limit, place) if state is Status.CREATED else tasks.bundled(state, limit, place)
        )
        assert len(rows) <= limit
        assert {each.status for each in rows} <= {state}
        found += [each.task_id for each in rows]
        pages += 1
    return found


def by_state(bench, limit=2):
    return {state: sorted(found) for state in Status if (found := listed(bench, state, limit))}


@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize("shards", [1, 3])
def test_every_task_is_listed_once_in_its_state(shards, limit):
    bench = Bench(Policy(max_size=3, shards=shards, max_attempts=2))
    bench.api.says = lambda call: Answer(members={m.task_id: FAIL for m in call.members if m.task_id > "f"})
    bench.register(*"abcdefghij")
    bench.drain()
    bench.clock.advance(seconds=30)
    bench.register("x", "y")

    assert by_state(bench, limit) == {
        Status.CREATED: ["x", "y"],
        Status.SUCCEEDED: list("abcdef"),
        Status.FAILED: list("ghij"),
    }


@pytest.mark.parametrize("isolation", Isolation)
def test_the_parts_of_a_divided_bundle_are_listed_with_it(isolation):
    bench = Bench(Policy(max_size=4, isolation=isolation))
    bench.api.says = lambda call: Answer(FAIL) if "b" in {m.task_id for m in call.members} else Answer()
    bench.register(*"abcd")
    bench.drain()

    assert by_state(bench) == {Status.SUCCEEDED: ["a", "c", "d"], Status.FAILED: ["b"]}


def test_a_task_that_was_retried_is_listed_with_its_last_bundle_alone():
    bench = Bench(Policy(max_size=2, max_attempts=3))
    asked = Counter()

    def busy(call):
        asked.update(m.task_id for m in call.members)
        return Answer(
            members={m.task_id: RETRY for m in call.members if m.task_id == "a" or asked[m.task_id] < 2}
        )

    bench.api.says = busy
    bench.register("a", "b")
    bench.drain()

    assert by_state(bench) == {Status.DEAD: ["a"], Status.SUCCEEDED: ["b"]}


def test_a_page_reads_a_bounded_number_of_rows():
    bench = Bench(Policy(max_size=2))
    bench.register(*(f"t{number}" for number in range(60)))
    bench.drain(1000)
    reads = Counter()
    bundle, tasks = bench.store.bundle, bench.store.tasks
    bench.store.bundle = lambda key: reads.update(bundles=1) or bundle(key)
    bench.store.tasks = lambda keys: reads.update(tasks=len(keys)) or tasks(keys)
    rows, place = bench.grouper.tasks(TENANT, TARGET).bundled(Status.SUCCEEDED, 1000, BundledPlace())

    assert (len(rows), reads["bundles"]) == (20, BUNDLES_A_PAGE)
    assert place is not None
    assert reads["tasks"] <= TASKS_A_PAGE
    reads.clear()
    bench.grouper.tasks(TENANT, TARGET).bundled(Status.FAILED, 1000, BundledPlace())
    assert +reads == {"bundles": BUNDLES_A_PAGE}


def with_policies(*patterns):
    bench = Bench()
    object.__setattr__(bench.world, "policies", Policies(patterns, Policy(max_size=4)))
    return bench


def test_targets_are_listed_with_what_waits_and_is_under_way():
    slow = Policy(max_size=2, max_delay=timedelta(seconds=60), rate=0.1)
    bench = with_policies(("mail*", slow))
    bench.register("a", "b", "c", target="mail/eu")
    bench.register("d")
    bench.clock.advance(seconds=1)
    while bench.queue.waiting and not bench.api.calls:
        bench.step()
    found = {each.target: each for each in bench.grouper.targets(TENANT).rows}
    mail, search = found["mail/eu"], found["search"]

    assert (mail.pattern, search.pattern, mail.shards) == ("mail*", None, 1)
    assert (mail.waiting, mail.waiting_more, mail.in_flight + search.in_flight) == (1, False, 1)
    assert mail.next_window_at == bench.clock.at + timedelta(seconds=59)
    assert search.next_window_at is None


def test_a_target_has_the_leases_of_its_leaders_as_long_as_they_are_held():
    bench = with_policies(("*", Policy(shards=2)))
    bench.register("a")
    bench.drain()
    (view,) = bench.grouper.targets(TENANT).rows
    assert (view.leaders, view.lease_until, view.rate) == (0, None, None)
    for shard, seconds in (("0", 5), ("1", 9)):
        lane = Lane(TENANT, view.target, shard)
        until = bench.clock.at + timedelta(seconds=seconds)
        seen = bench.world.store.lease(lane)
        bench.world.store.put_lease(seen, Lease(lane, 7 + (seen.fence if seen else 0), "leader", until))

    (view,) = bench.grouper.targets(TENANT).rows
    assert (view.leaders, view.lease_until) == (2, bench.clock.at + timedelta(seconds=9))
    bench.clock.advance(seconds=5)
    (view,) = bench.grouper.targets(TENANT).rows
    assert view.leaders == 1


DAY = timedelta(days=1)


@pytest.mark.parametrize("limit", [0, 1001])
def test_each_list_is_bounded(bench, limit):
    tasks = bench.grouper.tasks(TENANT, TARGET)
    with pytest.raises(InvalidRequest):
        tasks.waiting(limit, WaitingPlace())
    with pytest.raises(InvalidRequest):
        tasks.bundled(Status.BUNDLED, limit, BundledPlace())


def test_bundles_that_are_gone_or_void_are_left_out_and_those_before_them_are_listed():
    bench = Bench(Policy(max_size=1))
    for name in "abc":
        bench.register(name)
        bench.drain()
    gone, void = (bench.grouper.bundle(TENANT, bench.task(name).bundle_id) for name in "bc")
    del bench.store.bundles[gone.key]
    bench.store.bundles[void.key] = replace(void, members=())

    assert listed(bench, Status.SUCCEEDED) == ["a"]


def test_the_next_call_of_a_rate_is_shown_and_a_full_bundle_is_due_now():
    bench = with_policies(("*", Policy(max_size=2, rate=0.1)))
    bench.register("a")
    bench.drain()
    bench.register("b", "c", "d")
    bench.clock.advance(seconds=1)
    (view,) = bench.grouper.targets(TENANT).rows

    assert view.next_window_at == bench.clock.at
    assert bench.clock.at < view.next_call_at <= bench.clock.at + timedelta(seconds=10)
    assert view.rate == 0.1


def test_a_page_of_targets_ends_at_sixty_four_lanes(bench):
    names = [f"target-{number:03d}" for number in range(65)]
    for name in names:
        bench.store.write_lease(Lease(Lane(TENANT, name, "0"), 1, None, bench.clock.at))
    first = bench.grouper.targets(TENANT, limit=100)
    second = bench.grouper.targets(TENANT, limit=100, cursor=first.cursor)

    assert [[each.target for each in page.rows] for page in (first, second)] == [names[:64], names[64:]]
    assert second.cursor is None
