"""The shared loop and network: what each fault does to a request, and who runs when."""

from __future__ import annotations

from random import Random

import pytest

from fanin.errors import StoreUnavailable
from tests.simulating.faults import (
    CONFLICT,
    CRASH_AFTER,
    CRASH_BEFORE,
    LATE,
    LOST,
    ON_READS,
    ON_TRANSACTIONS,
    REPEATED,
    STALLED,
    THROTTLED,
    UNANSWERED,
    Crash,
    Faults,
)
from tests.simulating.loop import Actor, Loop
from tests.simulating.network import Network, Remote, Request


class Wire(Network):
    """A network with one fault, and the requests that were applied."""

    def __init__(self, loop, fault=None):
        super().__init__(loop)
        self.one, self.applied, self.notes = fault, [], []

    def fault(self, name):
        return self.one

    def apply(self, request, note):
        self.applied.append(request.args)
        return len(self.applied)

    def note(self, request, text):
        self.notes.append(text)


def carried(fault):
    """The network, and what one request over it came to."""
    loop, found = Loop(), []
    wire = Wire(loop, fault)
    store = Remote(lambda name, *args: wire.carry(Request("a", name, args)))

    def work():
        try:
            found.append(store.put(1))
        except (StoreUnavailable, Crash) as error:
            found.append(type(error))

    actor = Actor("a")
    loop.start(actor, work)
    while loop.running:
        loop.switch(actor)
    return wire, found[0]


@pytest.mark.parametrize(
    ("fault", "applied", "copies", "seen"),
    [
        (None, 1, 0, 1),
        (THROTTLED, 0, 0, StoreUnavailable),
        (LOST, 0, 0, StoreUnavailable),
        (CONFLICT, 0, 0, StoreUnavailable),
        (UNANSWERED, 1, 0, StoreUnavailable),
        (REPEATED, 2, 0, 2),
        (LATE, 1, 1, 1),
        (STALLED, 0, 1, StoreUnavailable),
        (CRASH_BEFORE, 0, 0, Crash),
        (CRASH_AFTER, 1, 0, Crash),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_request_meets_what_its_fault_describes(fault, applied, copies, seen):
    wire, found = carried(fault)

    assert (len(wire.applied), len(wire.stalled), found) == (applied, copies, seen)
    assert wire.requests == {"put": 1}
    assert wire.faults == ({fault.name: 1} if fault else {})
    assert len(wire.notes) == (fault is not None and not fault.applied)


def test_others_go_before_a_request_and_before_its_repetition():
    loop, order = Loop(), []
    wire = Wire(loop, REPEATED)
    first, other = Actor("first"), Actor("other")
    loop.start(first, lambda: wire.carry(Request("first", "put", (1,))))
    loop.start(other, lambda: order.append(list(wire.applied)))

    loop.switch(first)
    loop.switch(first)
    loop.switch(other)
    loop.switch(first)

    assert (order, wire.applied, loop.running, loop.steps) == ([[(1,)]], [(1,), (1,)], [], 4)


def test_an_actor_sleeps_in_virtual_time_on_a_clock_of_its_own():
    loop, seen = Loop(at=100), []

    def work():
        seen.append(loop.clock())
        loop.sleep(50)
        seen.append(loop.clock())

    actor = Actor("a", wake=100, skew=7)
    loop.start(actor, work)
    loop.switch(actor)
    assert loop.runnable() == []
    loop.at = 150
    assert loop.runnable() == [actor]
    loop.switch(actor)

    assert (seen, loop.clock()) == ([107, 157], 150)


def test_faults_are_drawn_of_the_runs_kinds_until_none_is_left():
    drawn = Faults(Random(1), rate=1.0, left=3, kinds={LOST, CONFLICT})

    assert [drawn.draw(ON_READS) for _ in range(4)] == [LOST, LOST, LOST, None]


def test_no_more_crashes_are_drawn_than_a_run_has():
    drawn = Faults(Random(1), rate=1.0, left=9, kinds={CRASH_AFTER}, crashes=1)

    assert [drawn.draw(ON_TRANSACTIONS) for _ in range(3)] == [CRASH_AFTER, None, None]
