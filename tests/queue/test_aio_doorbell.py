"""The doorbell of the queue for asyncio: it polls for a second at a time, and waits no more once stopped."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from fanin.queue import Ring, ShutDown, aio
from fanin.queue.aio import StoppableDoorbell

RINGS = [Ring(1), Ring(2)]


class Clock:
    """A clock whose readings are *tick* seconds apart, besides what passes."""

    def __init__(self):
        self.now, self.tick = 100.0, 0.0

    def monotonic(self):
        self.now += self.tick
        return self.now


@dataclass
class Bell:
    """A doorbell that notes its requests, and takes the time of its waits; *answers*: what they receive."""

    clock: Clock
    made: list[tuple[object, ...]] = field(default_factory=list)
    answers: list[list[Ring]] = field(default_factory=list)

    def at(self, url):
        self.made.append(("at", url))
        return self

    def ring(self, rings, delay):
        self.made.append(("ring", rings, delay))

    def wait(self, seconds, most):
        self.made.append(("wait", seconds, most))
        assert len(self.made) <= 10
        self.clock.now += seconds
        return self.answers.pop(0) if self.answers else ()

    def delete(self, rings):
        self.made.append(("delete", rings))


class Stopped(threading.Event):
    """An event that lets no time pass, and notes its waits."""

    def __init__(self):
        super().__init__()
        self.noted = []

    def wait(self, timeout=None):
        self.noted.append(timeout)
        return self.is_set()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(aio, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


@pytest.fixture
def bell(clock):
    return Bell(clock)


@pytest.fixture
def stoppable(bell):
    return StoppableDoorbell(bell, Stopped())


@pytest.mark.parametrize(
    ("seconds", "polls"), [(0, [0]), (0.5, [0.5]), (1, [1.0]), (2, [1.0, 1.0]), (2.5, [1.0, 1.0, 0.5])]
)
def test_a_wait_polls_for_a_second_at_a_time_up_to_its_seconds(stoppable, bell, seconds, polls):
    assert list(stoppable.wait(seconds, 3)) == []
    assert bell.made == [("wait", poll, 3) for poll in polls]


def test_rings_end_a_wait(stoppable, bell):
    bell.answers = [[], RINGS]

    assert stoppable.wait(60, 3) == RINGS
    assert len(bell.made) == 2


def test_a_stopped_doorbell_neither_waits_nor_rests(stoppable, bell):
    stoppable.stopped.set()
    for call in (lambda: stoppable.wait(60, 3), lambda: stoppable.pause(60)):
        with pytest.raises(ShutDown, match="this take was cancelled"):
            call()

    assert bell.made == []


def test_a_doorbell_at_a_url_is_the_one_found_there_and_stopped_with_the_other(stoppable, bell):
    there = Bell(bell.clock)
    bell.at = lambda _: there
    found = stoppable.at("https://bell")
    found.ring(RINGS, 1.0)
    stoppable.stopped.set()

    assert (bell.made, there.made) == ([], [("ring", RINGS, 1.0)])
    with pytest.raises(ShutDown):
        found.wait(60, 3)
