"""The doorbell in memory: when a ring arrives, how many do, and how long a wait takes."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from fanin.queue import MemoryDoorbell, Ring, doorbell


class Moved(threading.Condition):
    """A condition whose waits are noted, and pass at once; after ten of them they fail."""

    def __init__(self, clock):
        super().__init__()
        self.clock, self.noted = clock, []

    def wait(self, timeout=None):
        self.noted.append(timeout)
        assert len(self.noted) <= 10
        self.clock.now += timeout
        return False


@pytest.fixture
def clock(monkeypatch):
    """The clock of the doorbell, which a test moves; its sleeps pass at once."""
    clock = SimpleNamespace(now=100.0, slept=[])
    fake = SimpleNamespace(monotonic=lambda: clock.now, sleep=clock.slept.append)
    monkeypatch.setattr(doorbell, "time", fake)
    return clock


@pytest.fixture
def bell(clock):
    return MemoryDoorbell(rung=Moved(clock))


def test_the_ring_that_is_due_first_is_waited_for_and_no_longer(bell):
    bell.ring([Ring(5)], delay=5.0)
    bell.ring([Ring(1)], delay=1.0)

    assert bell.wait(60, 10) == [Ring(1)]
    assert bell.wait(2, 10) == ()
    assert bell.wait(2, 10) == [Ring(5)]
    assert bell.rung.noted == [1.0, 2.0, 2.0]


def test_a_ring_wakes_all_that_wait():
    waiting, received = threading.Semaphore(0), []

    class Noted(threading.Condition):
        def wait(self, timeout=None):
            waiting.release()
            return super().wait(timeout)

    bell = MemoryDoorbell(rung=Noted())
    threads = [
        threading.Thread(target=lambda: received.extend(bell.wait(20, 1)), daemon=True) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
        assert waiting.acquire(timeout=5)
    bell.ring([Ring(1), Ring(2)])
    for thread in threads:
        thread.join(5)

    assert sorted(ring.part for ring in received) == [1, 2]
