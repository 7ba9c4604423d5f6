"""What a leader asks of its store to fill a bundle: not a query or a claim too many, and when it stops."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fanin.errors import StoreUnavailable
from fanin.grouper import BundleState, Lane, Lease, Policies, Policy, Timing
from fanin.grouper.rules.model import Candidate
from fanin.grouper.store import Claim
from fanin.grouper.use_cases.filling import Filler
from tests.grouper.conftest import SMALL, TENANT, Bench
from tests.scripted import Scripted

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
        left = list(pages)
        self.store.scripts["candidates"] = lambda *_: self.candidates(
            *(left.pop(0) if len(left) > 1 else left[0])
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


def lost(fill, members, state=BundleState.READY):
    """A claim whose answer is a bundle of *members* that another has moved on."""

    def answer(bundle, *_):
        return Claim(replace(bundle, members=members, state=state, version=9))

    fill.store.scripts["claim"] = answer


@pytest.mark.parametrize(
    ("members", "state", "kept"),
    [
        ((), BundleState.READY, None),
        (("z",), BundleState.READY, ("z",)),
        (("z",), BundleState.OPEN, ("z",)),
        (("a", "b"), BundleState.READY, ("a", "b")),
        (("a", "b", "c"), BundleState.READY, ("a", "b", "c")),
    ],
)
def test_a_leader_whose_bundle_was_moved_on_by_another_stops(members, state, kept):
    fill = Fill(*"abcdef")
    lost(fill, members, state)

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
