"""What fails beside the work: the report of an end, a duty, an error without a text."""

from __future__ import annotations

import inspect
import sys
import threading

import pytest

from fanin.errors import Conflict, InvalidRequest
from fanin.queue import Options, OutboxEntry
from fanin.queue.working.background import Duty, in_threads
from fanin.queue.working.fair_lock import FairLock
from tests.queue.conftest import KEY, fail, names, session_of


def test_an_end_that_cannot_be_reported_does_not_keep_others_from_being_reported(make, store):
    reported = []

    def report(entry):
        if entry.item_id == "bad":
            raise Conflict("refused")
        reported.append(entry.item_id)

    queue = make(report=report)
    queue.add("a")
    store.outboxes = {KEY: {n: OutboxEntry(n, n, False, None, n, 0) for n in ("bad", "good")}}
    queue.sweep()

    assert reported == ["good"]
    assert [entry.item_id for entry in queue.context.store.outbox(queue.context.part(0))] == ["bad"]


def test_a_duty_that_fails_goes_on():
    done, enough = [], threading.Event()

    def do():
        done.append(len(done))
        if len(done) < 3:
            raise PermissionError
        enough.set()
        return False

    stop = in_threads([Duty(do, 0.001)])
    enough.wait(60)
    stop()

    assert done == [0, 1, 2]


class Mute(Exception):
    """An error whose text cannot be made."""

    def __repr__(self):
        raise AttributeError("reason")


def test_an_error_without_a_text_returns_its_jobs_as_any_other_does(make):
    queue = make(max_failures=2)
    queue.add_all([*"ab"])
    for _ in range(2):
        fail(queue, 2, Mute)

    assert names(queue.in_progress()) == []
    assert [dead.error for dead in queue.dead()] == ["Mute", "Mute"]


def test_an_error_whose_text_cannot_be_stored_is_stored_as_far_as_it_can_be(make):
    queue = make(max_failures=1)
    queue.add("a")
    with queue.take(wait=0) as jobs:
        jobs.release(jobs[0], failed=True, error="no file \udcff")

    assert [dead.error for dead in queue.dead()] == ["no file ?"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, PermissionError])
@pytest.mark.parametrize("options", [{}, {"max_failures": 1}], ids=["returned", "buried"])
def test_a_return_that_is_broken_off_leaves_no_claim_that_is_not_swept(make, store, error, options):
    queue = make(**options)
    queue.add_all([*"abcd"])
    whole, calls = {"give_back": store.give_back, "end": store.end}, []

    def broken(name):
        def call(*args):
            calls.append(name)
            if len(calls) == 2:
                raise error
            return whole[name](*args)

        return call

    store.give_back, store.end = broken("give_back"), broken("end")
    with pytest.raises(error):
        fail(queue, 4)
    store.give_back, store.end = whole["give_back"], whole["end"]
    queue._worker.maintenance.tick()

    assert names(queue.in_progress()) == []
    assert len(queue.queued()) + len(queue.dead()) == 4
    assert not session_of(queue).held


@pytest.mark.parametrize("delay", [-1, float("nan"), float("inf"), 1e13])
def test_a_delay_that_no_job_can_have_is_refused_while_the_job_is_still_ours(queue, delay):
    queue.add("a")
    with queue.take(wait=0) as jobs:
        with pytest.raises(InvalidRequest):
            jobs.release(jobs[0], delay=delay)

        assert names(queue.in_progress()) == ["a"]
    with pytest.raises(InvalidRequest):
        Options(retry_delay=delay)

    assert queue.depth().busy == 0


def interrupted_at(line):
    """Interrupt the lock before one of its lines, as Ctrl-C may."""

    def trace(frame, event, _):
        if frame.f_code is not FairLock.acquired.__wrapped__.__code__:
            return trace if event == "call" else None
        if event == "line" and frame.f_lineno == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    return trace


def test_an_interruption_while_a_take_waits_leaves_no_take_in_the_line():
    source, first = inspect.getsourcelines(FairLock.acquired.__wrapped__)
    before = next(number for number, text in enumerate(source) if text.strip() == "finally:")
    for number in range(1, before):
        lock = FairLock()
        usual = sys.gettrace()
        sys.settrace(interrupted_at(first + number))
        try:
            with lock.acquired(0):
                pass
        except KeyboardInterrupt:
            assert not lock.line
        finally:
            sys.settrace(usual)

        assert not lock.line
