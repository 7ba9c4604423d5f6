"""Electing, filling, sealing, dispatching and letting go, one after another; races are the simulator's."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import (
    Answer,
    BundleState,
    Grouper,
    Lane,
    LeadOutcome,
    Lease,
    Policies,
    Policy,
    Timing,
)
from fanin.grouper.rules.model import Candidate
from fanin.grouper.store import Claim
from fanin.grouper.use_cases.filling import Filler
from tests.grouper.conftest import SMALL, TENANT, Bench, waiting
from tests.scripted import Scripted


def test_one_leader_drains_full_bundles_and_the_rest_needs_no_other(bench):
    bench.register(*"abcdefg")
    bench.clock.advance(seconds=1)
    result = bench.step()

    assert [len(bundle.members) for bundle in result.bundles] == [3, 3, 1]
    assert result.longest_wait == timedelta(seconds=1)
    assert not result.took_over
    assert bench.drain() == 6 + 3


def test_each_term_of_a_leader_has_its_whole_lease(bench, monkeypatch):
    leases, put = [], bench.store.put_lease

    def put_later(seen, lease):
        if lease.holder:
            leases.append(lease.until - bench.clock.at)
        bench.clock.advance(seconds=1)
        return put(seen, lease)

    monkeypatch.setattr(bench.store, "put_lease", put_later)
    bench.register(*"abcdefg")
    bench.step()

    assert leases == [SMALL.lease] * 3


def test_a_rest_that_may_still_wait_is_left_for_a_fuller_bundle():
    bench = Bench(Policy(max_size=3, linger=timedelta(), max_delay=timedelta(seconds=60)))
    bench.register(*"abcd")
    result = bench.step()

    assert [len(bundle.members) for bundle in result.bundles] == [3]
    assert len(waiting(bench)) == 1


def test_a_leader_fills_no_more_bundles_than_it_may():
    bench = Bench(timing=Timing(rounds=2))
    bench.register(*"abcdefghi")

    assert len(bench.step().bundles) == 2


def test_a_task_waits_for_others_up_to_its_longest_delay():
    bench = Bench(Policy(max_size=3, linger=timedelta(seconds=1), max_delay=timedelta(seconds=10)))
    bench.register("a", "b")
    first = bench.step()

    assert first.outcome is LeadOutcome.WAITING
    assert bench.queue.sent[-1].delay == 9
    bench.drain()
    assert bench.called() == [["a", "b"]]
    assert (bench.clock.at - bench.task("a").created_at).total_seconds() == 10


def test_its_own_task_comes_along_where_the_index_does_not_show_it_yet(bench):
    bench.register("a")
    bench.store.shown_tasks = lambda: []

    assert bench.step().bundles[0].members == ("a",)


def test_a_burst_takes_fewer_than_two_deliveries_a_task():
    bench = Bench(Policy(max_size=25), Timing())
    bench.register(*(f"t{number}" for number in range(400)))
    deliveries = bench.drain(2_000)

    assert [len(call.members) for call in bench.api.calls] == [25] * 16
    assert deliveries - 16 < 2 * 400


def test_tasks_that_rest_keep_none_of_lower_priority_from_sharing_a_bundle(bench):
    resting = [f"rests-{number}" for number in range(10)]
    bench.register(*resting, priority=9)
    for task in [bench.task(name) for name in resting]:
        bench.store.write_task(replace(task, due_at=task.due_at + timedelta(minutes=2)))
    bench.register(*"abcdef")
    while len(bench.store.bundles) < 2:
        bench.step()

    assert [len(bundle.members) for bundle in bench.store.bundles.values()] == [3, 3]


def test_tasks_that_rest_are_no_company_for_one_that_waits():
    bench = Bench(Policy(max_size=2, linger=timedelta(seconds=1), max_delay=timedelta(seconds=5)))
    (task,) = bench.register("rests")
    bench.store.write_task(replace(task, due_at=task.due_at + timedelta(minutes=2)))
    bench.register("waits")
    bench.queue.waiting.pop(0)
    bench.clock.advance(seconds=1)

    assert bench.step().outcome is LeadOutcome.WAITING


@pytest.fixture
def noted(bench):
    """The store of the bench, whose requests are noted."""
    return Scripted(bench.store)


def lead(bench, noted, **facts):
    message = replace(bench.queue.receive(), **facts)
    bench.queue.sent.clear()
    return Grouper(replace(bench.world, store=noted)).lead(message)


SHORT = Policy(lease=timedelta(seconds=5), call_lease=timedelta(seconds=10))
LONGEST = Policy(lease=timedelta(seconds=200), call_lease=timedelta(seconds=800))


@pytest.mark.parametrize(
    "policies",
    [
        Policies([("a", LONGEST), ("b", SHORT)]),
        Policies([("b", SHORT), ("a", LONGEST)]),
        Policies([("b", SHORT)], LONGEST),
    ],
    ids=["first", "last", "default"],
)
def test_the_longest_leases_are_those_of_any_policy(policies):
    assert policies.longest_lease == timedelta(seconds=200)
    assert policies.longest_call_lease == timedelta(seconds=800)


def test_the_message_of_a_task_in_backoff_waits_until_it_is_due(bench):
    (task,) = bench.register("a")
    bench.store.write_task(replace(task, due_at=bench.clock.at + timedelta(seconds=120)))
    result = bench.grouper.lead(bench.queue.waiting[0][1].message)

    assert result.outcome is LeadOutcome.WAITING
    assert bench.queue.sent[-1].delay == 120
    assert not bench.store.leases


LONG = Policy(
    lease=timedelta(seconds=200), call_lease=timedelta(seconds=800), call_timeout=timedelta(seconds=300)
)


def bench_of(policy):
    """A bench on which *policy* is that of one target, and another has the default."""
    bench = Bench()
    object.__setattr__(bench.world, "policies", Policies((("search", policy),), Policy(max_size=3)))
    return bench


@pytest.mark.parametrize(("target", "seconds"), [("search", 200), ("mail", 15)])
def test_a_leader_holds_its_lane_for_the_lease_of_its_policy(target, seconds):
    bench = bench_of(LONG)
    bench.register("a", target=target)
    bench.step()
    (lease,) = bench.store.leases.values()

    assert lease.until == bench.clock.at + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("target", "lease", "timeout", "longest"), [("search", 800, 300, 400), ("mail", 60, None, 30)]
)
def test_a_call_has_the_lease_and_the_timeout_of_its_policy(target, lease, timeout, longest):
    bench = bench_of(LONG)
    bench.register("a", target=target)
    bench.step()
    seen = []

    def look(call):
        seen.append(bench.grouper.bundle(TENANT, call.bundle_id).call_until)
        return Answer()

    bench.api.says = look
    bench.step()
    (call,) = bench.api.calls

    assert seen == [bench.clock.at + timedelta(seconds=lease)]
    assert call.timeout == (None if timeout is None else timedelta(seconds=timeout))
    assert call.longest == timedelta(seconds=longest)


@pytest.mark.parametrize("request_", ["lease", "put_lease"])
@pytest.mark.parametrize("swept", [False, True])
def test_a_lane_of_another_leader_is_waited_for(bench, noted, request_, swept):
    bench.register("a")
    other = Lease(bench.task("a").lane, 7, "another", bench.clock.at + timedelta(seconds=60))
    noted.scripts[request_] = lambda *_: other
    result = lead(bench, noted, swept=swept)

    assert (result.outcome is LeadOutcome.DROPPED, result.contended) == (swept, True)
    assert len(bench.queue.sent) == (0 if swept else 1)


LANE = Lane(TENANT, "search", "0")
MINUTE = timedelta(minutes=1)


class Fill:
    """A leader's filler over a store whose requests are noted."""

    def __init__(self, *names, policy=SMALL, late=MINUTE, timing=None):
        self.bench = Bench(policy, *([timing] if timing else []))
        self.tasks = dict(zip(names, self.bench.register(*names), strict=True))
        self.bench.clock.at += late
        self.store = Scripted(self.bench.store)
        self.world = replace(self.bench.world, store=self.store, policies=Policies(default=policy))
        self.term = Lease(LANE, 7, "me", self.bench.clock.at + timedelta(seconds=15))
        self.filler = Filler(self.world)

    def own(self, name):
        return self.bench.store.task(self.tasks[name].key)

    def candidates(self, *names):
        return [Candidate(LANE, name, self.tasks[name].due_at) for name in names]

    def show(self, *pages):
        """Let the index show *pages* of names, one at each query, the last one again and again."""
        remaining = list(pages)
        self.store.scripts["candidates"] = lambda *_: self.candidates(
            *(remaining.pop(0) if len(remaining) > 1 else remaining[0])
        )

    def __call__(self, own=None):
        bundle, more = self.filler.fill(self.term, self.own(own) if own else None)
        return bundle.members if bundle else None, more

    @property
    def limits(self):
        return [limit for _, limit in self.store.of("candidates")]

    @property
    def claimed(self):
        return [arguments[1] for arguments in self.store.of("claim")]


def test_a_task_that_was_refused_is_not_tried_again():
    fill = Fill("a", "b")
    fill.bench.store.write_task(replace(fill.own("b"), target="mail"))
    fill.show("ab")

    assert fill("a") == (("a",), False)
    assert fill.claimed == [("a", "b"), ("a",)]
    assert fill.filler.longest_wait == MINUTE


def test_a_claim_in_conflict_is_repeated_eight_times_and_then_given_up():
    fill = Fill("a")
    fill.store.scripts["claim"] = lambda *_: Claim(None)

    with pytest.raises(StoreUnavailable):
        fill("a")

    assert len(fill.claimed) == 8
    assert sorted(fill.bench.pauses) == fill.bench.pauses


def test_a_transaction_claims_98_tasks_at_most():
    fill = Fill(*(f"t{number:03}" for number in range(150)), policy=Policy(max_size=200), timing=Timing())
    fill("t000")

    assert [len(joining) for joining in fill.claimed] == [98, 52]


@pytest.mark.parametrize(("members", "kept"), [((), None), (("z",), ("z",)), (("a", "b"), ("a", "b"))])
def test_a_leader_whose_bundle_was_moved_on_by_another_stops(members, kept):
    fill = Fill(*"abcdef")
    sealed = {"members": members, "state": BundleState.READY, "version": 9}
    fill.store.scripts["claim"] = lambda bundle, *_: Claim(replace(bundle, **sealed))

    assert fill("a") == (kept, False)
    assert len(fill.claimed) == 1


def test_a_leader_whose_term_ends_between_two_claims_stops():
    fill = Fill(*"abcdef")
    claim = fill.bench.store.claim

    def slow(*asked):
        fill.bench.clock.at += timedelta(seconds=15)
        return claim(*asked)

    fill.store.scripts["claim"] = slow

    assert fill("a") == (("a", "b"), False)
    assert len(fill.claimed) == 1


@pytest.mark.parametrize("crashed", [False, True])
def test_a_leader_seals_the_bundle_of_the_last_term_only_if_its_leader_did_not_end_it(bench, noted, crashed):
    bench.register("a")
    bench.drain()
    (lease,) = bench.store.leases.values()
    if crashed:
        bench.store.leases[lease.lane] = replace(lease, holder="another")
    bench.clock.advance(seconds=60)
    bench.register("b")
    bench.clock.advance(seconds=1)

    assert lead(bench, noted).took_over is crashed
    assert len(noted.of("seal")) == 1 + crashed
