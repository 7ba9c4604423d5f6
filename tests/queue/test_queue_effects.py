"""The clock of a queue, the pauses between its requests, and the duties of its background."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from fanin.queue.working import background
from fanin.queue.working.background import Duty, in_threads


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
