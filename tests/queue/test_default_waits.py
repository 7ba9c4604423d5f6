"""The waits of a queue with the default options, to the second, and the defaults of a new job."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from fanin.errors import StoreUnavailable
from fanin.queue import NewJob, Ring
from tests.queue.conftest import names


@pytest.mark.parametrize(("live", "seconds"), [(True, 5), (False, 20)])
def test_a_worker_sweeps_its_parts_every_5_seconds_and_every_20_without_live_jobs(
    queue, store, time, duties, monkeypatch, live, seconds
):
    if live:
        queue.add(NewJob("later", delay=3600))
    with queue.take(wait=0):
        pass
    whole, sweeps = store.first, []
    monkeypatch.setattr(store, "first", lambda *args: sweeps.append(time.monotonic()) or whole(*args))
    duties.pass_seconds(45)

    assert len(sweeps) > 2
    assert {late - early for early, late in pairwise(sweeps)} == {seconds}


@pytest.mark.parametrize(("late_us", "rings"), [(0, []), (1, [Ring(0)])])
def test_the_sweep_rings_for_a_job_that_has_waited_for_over_10_seconds(queue, bell, time, late_us, rings):
    queue.add("a")
    bell.rings.clear()
    time.passed += 10_000_000 + late_us
    queue.sweep()

    assert [ring for _, ring in bell.rings] == rings


@pytest.mark.parametrize(("wait", "longest"), [(None, 20.0), (60, 20.0), (7, 7.0)])
def test_a_take_reads_its_parts_after_20_seconds_without_a_ring(queue, bell, monkeypatch, wait, longest):
    waits: list[float] = []

    def a_ring_is_lost(seconds, _most):
        waits.append(seconds)
        queue.add("a")
        bell.rings.clear()
        return ()

    monkeypatch.setattr(bell, "wait", a_ring_is_lost)
    with queue.take(wait=wait) as jobs:
        assert names(jobs) == ["a"]

    assert waits == [longest]


def test_a_wait_at_the_doorbell_ends_a_row_of_failed_requests(queue, bell, store, monkeypatch):
    """Each row begins with the shortest pause, and eight requests of it may fail."""
    pauses: list[int] = []
    queue.context = replace(queue.context, effects=replace(queue.context.effects, pause=pauses.append))
    queue.add("a")
    whole, answers = store.ready, iter("ffffff-fffffff-f")

    def ready(*args):
        answer = next(answers, "")
        if answer == "f":
            raise StoreUnavailable("out of reach")
        return [] if answer else whole(*args)

    monkeypatch.setattr(bell, "wait", lambda *_: ())
    monkeypatch.setattr(store, "ready", ready)
    with queue.take(wait=60) as jobs:
        assert names(jobs) == ["a"]

    assert pauses == [*range(1, 7), *range(1, 8), 1]


def test_the_end_of_a_job_without_an_item_is_not_reported(make, caplog):
    reported: list[object] = []
    queue = make(report=reported.append)
    queue.add("a")
    with queue.take(wait=0) as jobs:
        jobs.ack(jobs[0])

    assert (reported, caplog.messages) == ([], [])


def test_a_job_has_the_lowest_priority_by_default(queue):
    queue.add(NewJob("first", priority=1))
    queue.add_all([NewJob("default"), NewJob("lowest", priority=0)])
    found = [(job.name, job.priority) for job in queue.queued()]

    assert found == [
        ("first", 1),
        ("default", 0),
        ("lowest", 0),
    ]


def test_no_ring_is_sent_for_a_job_in_progress(queue, bell, duties):
    queue.add("a")
    queue.take(wait=0).__enter__()
    bell.rings.clear()
    duties.pass_seconds(30)
    queue.sweep()

    assert (queue.depth().busy, queue.depth().oldest_us) == (1, 0)
    assert list(bell.rings) == []


def test_a_job_that_is_due_is_delayed_and_not_the_oldest_until_the_sweep_makes_it_ready(queue, time):
    queue.add(NewJob("a", delay=60))
    time.sleep(70)

    assert (queue.depth().delayed, queue.depth().oldest_us) == (1, 0)
    queue.sweep()
    time.sleep(1)
    assert (queue.depth().ready, queue.depth().oldest_us) == (1, 1_000_000)
