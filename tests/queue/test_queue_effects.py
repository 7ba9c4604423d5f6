"""The clock of a queue, the pauses between its requests, and the duties of its background."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue.effects import Effects
from fanin.queue.working import background
from fanin.queue.working.background import Duty, in_threads


def test_the_clock_of_a_queue_counts_microseconds(monkeypatch):
    monkeypatch.setattr("fanin.queue.effects.time.time_ns", lambda: 1_772_366_400_123_456_789)

    assert Effects().now() == 1_772_366_400_123_456


def test_a_request_pauses_before_each_repeat_and_longer_each_time():
    pauses = []

    def times_out():
        raise StoreUnavailable("no answer")

    with pytest.raises(StoreUnavailable):
        Effects(pause=pauses.append).insist(times_out)
    assert pauses == [0, 1, 2]


class Pauses(threading.Event):
    """An event that lets no time pass: it notes its waits, and is set after *most* of them."""

    def __init__(self, most=300):
        super().__init__()
        self.noted, self.most = [], most

    def wait(self, timeout=None):
        self.noted.append(timeout)
        return self.is_set() or len(self.noted) > self.most


class Thread(threading.Thread):
    """A thread that runs when it is started; *joined*: the seconds for which each was waited for."""

    joined = ()

    def start(self):
        self.run()

    def join(self, timeout=None):
        type(self).joined += ((self.daemon, timeout),)


@pytest.fixture
def pauses(monkeypatch):
    """The pauses of duties, each of which runs to its end when it is started."""
    pauses = Pauses()
    monkeypatch.setattr(Thread, "joined", ())
    monkeypatch.setattr(background, "threading", SimpleNamespace(Event=lambda: pauses, Thread=Thread))
    return pauses


def test_a_duty_waits_nine_to_ten_tenths_of_its_seconds_at_random(pauses):
    in_threads([Duty(lambda: True, 10.0)])

    assert len(pauses.noted) == 301
    assert 9.0 <= min(pauses.noted) < 9.2
    assert 9.8 < max(pauses.noted) <= 10.0


def test_a_duty_that_says_so_is_not_waited_for_again(pauses):
    done = []
    in_threads([Duty(lambda: bool(done.append(1)), 10.0)])

    assert (done, len(pauses.noted)) == ([1], 1)


def test_each_duty_is_given_ten_seconds_to_end_and_then_left_to_the_end_of_the_process(pauses):
    in_threads([Duty(lambda: False, 1.0), Duty(lambda: False, 1.0)])()

    assert pauses.is_set()
    assert Thread.joined == ((True, 10.0), (True, 10.0))


def test_duties_are_stopped_once_what_runs_has_ended():
    began, ended = threading.Event(), []

    def do():
        began.set()
        threading.Event().wait(0.05)
        ended.append(True)
        return True

    stop = in_threads([Duty(do, 0.001)])
    assert began.wait(10)
    stop()

    assert ended[0]
